"""State files: what goes in comes out, what is broken is refused, and the old file stays until the new one is whole."""

from __future__ import annotations

import io
import json
import math
import os
import pickle
import struct
import subprocess
import sys
import time
import tracemalloc
from collections import OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import ROOT, run_python, same, teaches
from tinygrad_edu import nn, optim
from tinygrad_edu.dtypes import NAMES, as_dtype
from tinygrad_edu.errors import DeviceError, DtypeError, StateFileError

Point = namedtuple("Point", "x y")
OPEN = "a file is given as a path, or open for bytes"
AGAIN = "use another copy of the file, or make it again with save()"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.safetensors"


def back(value: Any, path: Path) -> Any:
    tg.save(value, path)
    return tg.load(path)


# What goes in comes out -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)], ids=str)
def test_every_dtype_and_shape(dtype: str, shape: tuple[int, ...], path: Path) -> None:
    values = np.random.default_rng(0).normal(size=shape) * 100
    state = {"x": tg.tensor(values.astype(np.int64) % 100).to(dtype), "y": tg.ones(1, dtype="int8")}
    found = back(state, path)
    assert same(found, state)
    read = safetensors.numpy.load_file(path)
    assert sorted(read) == ["x", "y"]
    assert (read["x"].dtype, read["x"].shape) == (as_dtype(dtype), shape)
    assert read["x"].tobytes() == state["x"].array.tobytes()


def test_special_floats_keep_their_bits(path: Path) -> None:
    bits = np.array([0x7FC00001, 0xFF800000, 0x80000000, 0x00000001], np.uint32)
    found = back({"x": tg.from_numpy(bits.view(np.float32))}, path)
    assert found["x"].array.view(np.uint32).tolist() == bits.tolist()


def test_a_checkpoint_as_people_write_it(path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": {
            "state": {0: {"step": tg.tensor(3.0), "exp_avg": tg.ones(4, 3)}, 1: {"momentum_buffer": None}},
            "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.999), "params": [0, 1], "maximize": False}],
        },
        "best": math.inf,
        "losses": [0.1, 1 / 3, -0.0, math.nan, -math.inf, 5e-324],
        "epoch": 3,
        "large": -(2**80),
        "name": 'Übung "1"\n\0 \ud800 😀',
        "keys": {1: "int", 1.5: "float", False: "bool", None: "none", math.inf: "inf", "": {}},
        "nested": ((), [], {}, (tg.arange(3), [tg.ones(2, dtype="bfloat16")])),
    }
    found = back(checkpoint, path)
    assert same(found, checkpoint)
    assert math.copysign(1, found["losses"][2]) == -1
    assert not found["model"]["0.weight"].requires_grad
    nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).load_state_dict(found["model"])
    assert "model.0.weight" in safetensors.numpy.load_file(path)


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, (), [1, "a"], 2.5, True], ids=repr)
def test_a_file_without_tensors(value: Any, path: Path) -> None:
    assert same(back(value, path), value)


@pytest.mark.parametrize("weights_only", [None, True, False])
def test_no_file_holds_more_than_weights(path: Path, weights_only: bool | None) -> None:
    tg.save({"x": tg.ones(2), "epoch": 3}, path)
    assert same(tg.load(path, "cpu", weights_only=weights_only), {"x": tg.ones(2), "epoch": 3})


def test_a_tensor_alone(path: Path) -> None:
    assert same(back(tg.arange(4), path), tg.arange(4))
    assert list(safetensors.numpy.load_file(path)) == ["tensor"]


SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5)
TENSORS = st.builds(
    lambda dtype, shape: tg.from_numpy(np.arange(math.prod(shape)).reshape(shape).astype(as_dtype(dtype))),
    st.sampled_from(NAMES),
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
)
TREES = st.recursive(
    SCALARS | st.just(math.nan) | TENSORS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(SCALARS, inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES)
def test_any_structure(tmp_path: Path, tree: Any) -> None:
    path = tmp_path / "any.safetensors"
    assert same(back(tree, path), tree)
    count = sum(isinstance(leaf, tg.Tensor) for leaf in leaves(tree))
    assert len(safetensors.numpy.load_file(path)) == count


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in leaves(item)]
    return leaves(list(tree.values())) if isinstance(tree, dict) else [tree]


def test_names_that_meet_are_told_apart(path: Path) -> None:
    state = {
        "a.b": tg.zeros(1),
        "a": {"b": tg.ones(1)},
        "__metadata__": tg.full((1,), 2.0),
        1: tg.zeros(2),
        "1": tg.ones(2),
    }
    assert same(back(state, path), state)
    assert sorted(safetensors.numpy.load_file(path)) == ["1", "1#2", "__metadata__#2", "a.b", "a.b#2"]


def test_subclasses_of_dict_and_numpy_scalars_become_plain(path: Path) -> None:
    given = OrderedDict(a=np.float32(0.5), b=np.int64(3), c=np.bool_(True), d=np.float64(0.1))
    assert same(back(given, path), {"a": 0.5, "b": 3, "c": True, "d": 0.1})


def test_an_open_file_takes_one_after_another(tmp_path: Path) -> None:
    """Each reaches as far as it was written: the next begins there, with whatever came before."""
    first, second = {"w": tg.ones(2, 3), "epoch": 3}, (tg.arange(4), "done", tg.zeros(2, 0))
    for stream in (io.BytesIO(), (tmp_path / "a").open("w+b"), (tmp_path / "b").open("w+b", buffering=0)):
        with stream:
            stream.write(b"before")
            tg.save(first, stream)
            tg.save(second, stream)
            stream.seek(len(b"before"))
            assert same(tg.load(stream, "cpu"), first)
            assert same(tg.load(stream, weights_only=True), second)
            assert stream.read() == b""


def test_an_open_file_holds_what_a_path_would(path: Path) -> None:
    state, stream = {"w": tg.rand(3), "b": [1, tg.ones(2)]}, io.BytesIO()
    tg.save(state, path)
    tg.save(state, stream)
    assert stream.getvalue() == path.read_bytes()
    with path.open("rb") as file:
        assert same(tg.load(file), state)


def test_files_that_take_and_give_a_few_bytes_at_a_time() -> None:
    class Slow(io.BytesIO):
        def write(self, data: Any) -> int:
            return super().write(memoryview(data)[:7])

        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(5, size or 0))

    state = {"w": tg.rand(5), "b": tg.arange(3)}
    stream = Slow()
    tg.save(state, stream)
    stream.seek(0)
    assert same(tg.load(stream), state)


def test_open_files_that_are_cut_short_or_spoilt() -> None:
    stream = io.BytesIO()
    tg.save({"w": tg.ones(3)}, stream)
    whole = stream.getvalue()
    for length in range(len(whole)):
        with pytest.raises(StateFileError, match="load of a BytesIO"):
            tg.load(io.BytesIO(whole[:length]))
    for at in (0, 3, 7, 20, len(whole) - 1):
        spoilt = bytearray(whole)
        spoilt[at] ^= 1
        with pytest.raises(StateFileError):
            tg.load(io.BytesIO(bytes(spoilt)))
    mend = "go back to its beginning first: f.seek(0)"
    with teaches(StateFileError, "load of a BytesIO", "it ends before its header does, or has none", mend):
        tg.load(stream)
    greedy = b'{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,99999999999999]}}'
    with pytest.raises(StateFileError, match="99999999999999 bytes of tensors, but 0 follow"):
        tg.load(io.BytesIO(struct.pack("<Q", len(greedy)) + greedy))


def test_open_files_that_hold_no_bytes(path: Path) -> None:
    tg.save(tg.ones(2), path)
    mend = "open it for bytes: open(path, 'rb')"
    with path.open() as text, teaches(DtypeError, f"load with f={path}", "the file is open for text", mend):
        tg.load(text)  # type: ignore[arg-type]
    with path.open("rb") as file:
        mend = "open it for bytes: open(path, 'wb')"
        with teaches(DtypeError, f"save with f={path}", "the file is open the other way", mend):
            tg.save(tg.ones(2), file)
    with pytest.raises(DtypeError, match="save with f=a StringIO"):
        tg.save(tg.ones(2), io.StringIO())  # type: ignore[arg-type]


def test_a_size_is_kept_as_a_tuple(path: Path) -> None:
    assert same(back({"size": tg.ones(2, 3).size()}, path), {"size": (2, 3)})


def test_views_are_cut_out_and_shared_tensors_written_for_each(path: Path) -> None:
    base = tg.arange(1_000_000, dtype="float32").reshape(1000, 1000)
    found = back({"column": base[:3, 1], "turned": base[:2, :3].T, "twin": base[:3, 1]}, path)
    assert found["column"].tolist() == [1.0, 1001.0, 2001.0]
    assert found["turned"].tolist() == [[0.0, 1000.0], [1.0, 1001.0], [2.0, 1002.0]]
    assert path.stat().st_size < 2000
    found["column"].zero_()
    assert found["twin"].tolist() == [1.0, 1001.0, 2001.0]


def test_what_is_loaded_can_be_written_to_and_trained(path: Path) -> None:
    x = back({"x": tg.ones(3, requires_grad=True)}, path)["x"]
    assert not x.requires_grad
    x.mul_(2).requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0, 4.0]
    x.detach().numpy()[0] = 7
    assert x.tolist() == [7.0, 2.0, 2.0]


def test_the_same_state_gives_the_same_bytes(tmp_path: Path) -> None:
    code = (
        "import sys, tinygrad_edu as tg; "
        "tg.save({'b': tg.ones(3), 'a': tg.zeros(2, dtype='int8'), 'n': {1: 'x', 'y': 2}}, sys.argv[1])"
    )
    for name in ("one", "two"):
        subprocess.run([sys.executable, "-c", code, str(tmp_path / name)], cwd=ROOT, check=True, timeout=60)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_devices(path: Path) -> None:
    state = {"x": tg.arange(3).to("far"), "y": tg.ones(2)}
    found = back(state, path)
    assert (found["x"].device, found["x"].tolist()) == ("cpu", [0, 1, 2])
    assert {x.device for x in tg.load(path, map_location="far").values()} == {"far"}
    assert {x.device for x in tg.load(path, "far").values()} == {"far"}
    with pytest.raises(DeviceError):
        tg.load(path, map_location="nowhere")


# Files of others --------------------------------------------------------------------------------------------------


def test_files_of_the_library_are_read(path: Path) -> None:
    given = {"b": np.arange(6.0).reshape(2, 3), "a": np.array(True), "h": np.ones(3, as_dtype("bfloat16"))}
    safetensors.numpy.save_file(given, path, metadata={"format": "pt", "author": "somebody"})
    found = tg.load(path)
    assert {name: (x.dtype, x.shape, x.array.tobytes()) for name, x in found.items()} == {
        name: (x.dtype, x.shape, x.tobytes()) for name, x in given.items()
    }
    safetensors.numpy.save_file({}, path)
    assert tg.load(path) == {}


def test_others_find_plain_names_and_the_mark_that_they_ask_for(path: Path) -> None:
    tg.save(nn.Linear(2, 3).state_dict(), path)
    with safetensors.safe_open(path, "np") as file:
        assert sorted(file.keys()) == ["bias", "weight"]
        assert file.metadata()["format"] == "pt"
        assert file.get_tensor("weight").shape == (3, 2)


def test_each_tensor_starts_at_a_multiple_of_its_element(path: Path) -> None:
    tg.save({name: tg.ones(3, dtype=name) for name in NAMES}, path)
    header, data = split(path.read_bytes())
    assert (8 + len(header)) % 8 == 0
    for name, entry in json.loads(header).items():
        if name != "__metadata__":
            assert entry["data_offsets"][0] % as_dtype(name).itemsize == 0
    assert len(data) == 3 * sum(as_dtype(name).itemsize for name in NAMES)


# What cannot be written -------------------------------------------------------------------------------------------

LEAVE = "leave it out, or describe it in text"
STATE = "save what it gives for this: x.state_dict()"


def pickled(kind: str) -> str:
    return f"a {kind} cannot be written without pickle, which runs code when read"


@pytest.mark.parametrize(
    ("value", "where", "why", "mend"),
    [
        ({"a": [{1}]}, "['a'][0]", pickled("set"), LEAVE),
        ({"f": len}, "['f']", pickled("builtin_function_or_method"), LEAVE),
        ({"x": {2: 1j}}, "['x'][2]", pickled("complex"), LEAVE),
        (Point(1, 2), "", pickled("Point"), LEAVE),
        ({"x": np.ones(2)}, "['x']", pickled("ndarray"),
         "make a tensor of it: tensor(x)"),
        ({"m": [b"raw"]}, "['m'][0]", pickled("bytes"), LEAVE),
        (nn.Linear(1, 1), "", pickled("Linear"), STATE),
        ({"o": optim.SGD([tg.ones(1)])}, "['o']", pickled("SGD"), STATE),
        ({"k": {(1, 2): 3}}, "['k']", "a key is text or a number, but one here is a tuple",
         "make text of it: str(key)"),
        ({"n": 2**5000}, "['n']", "an integer of 5,001 bits is too long", "write it as text: str(x)"),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_what_cannot_be_written_is_named(value: Any, where: str, why: str, mend: str, path: Path) -> None:
    path.write_bytes(b"old")
    with teaches(DtypeError, f"save of obj{where}", why, mend, "tg.save("):
        tg.save(value, path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_what_holds_itself(path: Path) -> None:
    loop: dict[str, Any] = {}
    loop["again"] = loop
    why = "it nests deeper than 100 levels, or holds itself"
    with teaches(DtypeError, "save of obj['again']['again']['again']", why, "make it flatter", "tg.save("):
        tg.save(loop, path)
    deep: Any = tg.ones(1)
    for _ in range(99):
        deep = [deep]
    assert same(back(deep, path), deep)


def test_places_where_no_file_can_be(path: Path, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere" / "x"
    mend = f"make it first: os.makedirs({str(missing.parent)!r})"
    with teaches(StateFileError, f"save to {missing}", "there is no such folder", mend, "tg.save("):
        tg.save({}, missing)
    with teaches(
        StateFileError, f"save to {tmp_path}", "what is there is not a regular file", "choose another name", ""
    ):
        tg.save({}, tmp_path)
    with teaches(DtypeError, "save with f=list", OPEN, "give it a name, as text", ""):
        tg.save({}, [])
    with teaches(DtypeError, "load with f=int", OPEN, "give it a name, as text", ""):
        tg.load(3)
    with pytest.raises(FileNotFoundError, match="state"):
        tg.load(path)
    with teaches(StateFileError, f"load of {tmp_path}", "it is not a regular file", AGAIN, "tg.load("):
        tg.load(tmp_path)


def test_a_header_that_nobody_would_read_is_not_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinygrad_edu.state._MOST_HEADER", 10_000)
    with pytest.raises(StateFileError, match="put long lists of numbers into tensors"):
        tg.save({"x": list(range(10_000))}, path)
    assert not path.exists()


# What is broken ---------------------------------------------------------------------------------------------------


def split(raw: bytes) -> tuple[bytes, bytes]:
    (length,) = struct.unpack("<Q", raw[:8])
    return raw[8 : 8 + length], raw[8 + length :]


def whole(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype: str = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


EXAMPLE = {"model": {"w": tg.ones(2), "b": tg.arange(3, dtype="int8")}, "epoch": 3, "betas": (0.9, math.inf)}


def test_every_point_of_truncation(path: Path) -> None:
    tg.save(EXAMPLE, path)
    raw = path.read_bytes()
    for end in range(len(raw)):
        path.write_bytes(raw[:end])
        with pytest.raises(StateFileError):
            tg.load(path)
    path.write_bytes(raw + b"\0")
    with pytest.raises(StateFileError):
        tg.load(path)
    path.write_bytes(raw)
    assert same(tg.load(path), EXAMPLE)


def test_spoilt_names_of_both_entries_do_not_make_it_another_s_file(path: Path) -> None:
    tg.save(EXAMPLE, path)
    path.write_bytes(
        path.read_bytes().replace(b"edu.tree", b"edu/tree").replace(b"tinygrad_edu.crc", b"tinygrad-edu.crc")
    )
    with pytest.raises(StateFileError, match="its checksum does not fit"):
        tg.load(path)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.floats(0, 1, exclude_max=True),
    change=st.integers(1, 255),
    second=st.none() | st.floats(0, 1, exclude_max=True),
)
def test_changed_bytes_are_seen(tmp_path: Path, place: float, change: int, second: float | None) -> None:
    """Anywhere in the file: either an error, or a byte that means nothing, such as a space."""
    path, original = tmp_path / "flipped.safetensors", tmp_path / "original.safetensors"
    if not original.exists():
        tg.save(EXAMPLE, original)
    raw = bytearray(original.read_bytes())
    for where in (place, second):
        if where is not None:
            raw[int(where * len(raw))] ^= change
    path.write_bytes(raw)
    try:
        found = tg.load(path)
    except StateFileError:
        return
    assert same(found, EXAMPLE)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=40), header=st.one_of(
    st.none(),
    st.recursive(
        st.sampled_from(["F32", "BOOL", "C64", "", "a", 0, 1, 4, -1, 2**63, 2**70, 0.5, None, True, [0, 4], [4, 0]]),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "dtype", "shape", "data_offsets", "__metadata__"]), inner),
        max_leaves=8,
    ),
))  # fmt: skip
def test_anything_at_all(tmp_path: Path, data: bytes, header: Any) -> None:
    """Whatever the bytes are: tensors, as the library reads them, or our error and no other."""
    path = tmp_path / "anything"
    path.write_bytes(data if header is None else whole(header, data))
    try:
        found = tg.load(path)
    except StateFileError as error:
        assert error.tried == f"load of {path}"
    else:
        read = safetensors.numpy.load_file(path)
        assert {k: x.array.tobytes() for k, x in found.items()} == {k: x.tobytes() for k, x in read.items()}


def tree(structure: Any, **metadata: str) -> bytes:
    """A file with the tensors a and b, 1 and 2, and any structure, with a checksum that fits."""
    from tinygrad_edu.state import _checksum

    text = structure if isinstance(structure, str) else json.dumps(structure)
    arrays = {"a": np.ones(1, np.float32), "b": np.full(1, 2.0, np.float32)}
    known = {"tinygrad_edu.tree": text, "tinygrad_edu.crc32": _checksum(arrays, text), **metadata}
    header = {"__metadata__": known, "a": entry(), "b": entry(offsets=(4, 8))}
    return whole(header, arrays["a"].tobytes() + arrays["b"].tobytes())


A, B = {"tensor": "a"}, {"tensor": "b"}


def test_the_structures_below_are_refused_for_their_fault_alone(path: Path) -> None:
    path.write_bytes(tree([A, {"dict": [["x", B]]}]))
    assert same(tg.load(path), [tg.ones(1), {"x": tg.full((1,), 2.0)}])


BROKEN = {
    "no bytes": b"",
    "no header": whole(b""),
    "an endless header": whole({}, length=2**63),
    "a header longer than the file": whole({}, length=1000),
    "a list": whole([]),
    "no JSON": whole(b"{'a': 1}"),
    "deep JSON": whole(b'{"a":' + b"[" * 200_000),
    "not UTF-8": whole(b'{"\xff": 1}'),
    "an unknown dtype": whole({"a": entry("C64", offsets=(0, 8))}, b"12345678"),
    "a small float": whole({"a": entry("F8_E4M3", offsets=(0, 1))}, b"1"),
    "unsigned 64": whole({"a": entry("U64", offsets=(0, 8))}, b"12345678"),
    "a dtype that does not exist": whole({"a": entry("F31")}, b"1234"),
    "overlapping": whole({"a": entry(), "b": entry()}, b"1234"),
    "a hole": whole({"a": entry(offsets=(4, 8))}, b"12345678"),
    "out of the file": whole({"a": entry(shape=(2,), offsets=(0, 8))}, b"1234"),
    "backwards": whole({"a": entry(offsets=(4, 0))}, b"1234"),
    "too large a size": whole({"a": entry(shape=(2**40, 2**40))}, b"1234"),
    "a size that no array has": whole({"a": entry(shape=(2**62, 0), offsets=(0, 0))}),
    "too many axes": whole({"a": entry(shape=(1,) * 70)}, b"1234"),
    "a negative size": whole({"a": entry(shape=(-1,))}, b"1234"),
    "a size that does not fit": whole({"a": entry(shape=(2,))}, b"1234"),
    "a name twice": whole(b'{"a":%b,"a":%b}' % ((json.dumps(entry()).encode(),) * 2), b"1234"),
    "data that nobody names": whole({"a": entry()}, b"12345678"),
    "a bool of 2": whole({"a": entry("BOOL", offsets=(0, 1))}, b"\2"),
    "metadata of numbers": whole({"__metadata__": {"a": 1}}),
    "only a tree": whole({"__metadata__": {"tinygrad_edu.tree": "[]"}}),
    "only a checksum": whole({"__metadata__": {"tinygrad_edu.crc32": "00000000"}}),
    "another checksum": tree([A, B], **{"tinygrad_edu.crc32": "00000000"}),
    "a tree that is no JSON": tree("["),
    "a deep tree": tree("[" * 100_000),
    "a missing tensor": tree([A, B, {"tensor": "c"}]),
    "a tensor twice": tree([A, A]),
    "a tensor that is not named": tree([A]),
    "a tensor without a name": tree([A, B, {"tensor": ["a"]}]),
    "an unknown word": tree([A, B, {"set": [1]}]),
    "two words": tree([A, B, {"tuple": [], "dict": []}]),
    "no word": tree([A, B, {}]),
    "a float of text": tree([A, B, {"float": "1e3"}]),
    "a tuple of text": tree([A, B, {"tuple": "ab"}]),
    "a dict of triples": tree([A, B, {"dict": [[1, 2, 3]]}]),
    "a dict of numbers": tree([A, B, {"dict": 3}]),
    "a key twice": tree([A, B, {"dict": [["k", 1], ["k", 2]]}]),
    "keys that are equal": tree([A, B, {"dict": [[1, 1], [True, 2]]}]),
    "a key that is a list": tree([A, B, {"dict": [[[1], 2]]}]),
    "an integer without end": tree('[{"tensor":"a"},{"tensor":"b"},' + "9" * 5000 + "]"),
    "a pickle": pickle.dumps({"x": 1}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused(name: str, path: Path) -> None:
    path.write_bytes(BROKEN[name])
    with pytest.raises(StateFileError) as caught:
        tg.load(path)
    error = caught.value
    assert error.tried == f"load of {path}"
    assert error.why and error.mend and "tg.load(path)" in error.line
    assert len(str(error)) < 1000


def test_some_of_the_words(path: Path) -> None:
    for name, why in (
        ("a small float", "tensor 'a' has dtype F8_E4M3, which does not exist here"),
        ("a name twice", "its header names 'a' twice"),
        ("no header", "its header cannot be read (JSONDecodeError: Expecting value: line 1 column 1 (char 0))"),
        ("a header longer than the file", "it ends before its header does, or has none"),
        ("data that nobody names", "its header announces 4 bytes of tensors, but 8 follow"),
        ("a hole", "invalid offset for tensor `a`"),
        ("another checksum", "its checksum does not fit: bytes have changed since it was written"),
        ("a tensor that is not named", "the structure in its metadata does not name the tensor 'b'"),
        ("an unknown word", "the structure in its metadata cannot be read (ValueError: 'set' with [1])"),
        ("a bool of 2", "tensor 'a' holds bools that are neither 0 nor 1"),
    ):
        path.write_bytes(BROKEN[name])
        with pytest.raises(StateFileError) as caught:
            tg.load(path)
        assert caught.value.why == why


def test_a_file_of_pytorchs_own_is_recognised(path: Path) -> None:
    path.write_bytes(b"\x80\x02" + bytes(100))  # the length of a header of 640 bytes
    with pytest.raises(StateFileError) as caught:
        tg.load(path)
    assert caught.value.mend == AGAIN
    for start in (b"PK\x03\x04\0\0\x08\x08", b"\x80\x02\x8a\nl\xfc\x9cF"):
        path.write_bytes(start + bytes(100))
        with pytest.raises(StateFileError, match=r"in PyTorch, use safetensors\.torch\.save_file"):
            tg.load(path)


@pytest.mark.skipif(sys.platform == "win32", reason="sparse files and resource limits are POSIX's")
def test_a_huge_claim_takes_no_memory(path: Path) -> None:
    """A terabyte on paper, in the header or as a sparse file: refused by a process that may have 2 GB."""
    claims = [
        whole({"a": entry(shape=(2**38,), offsets=(0, 2**40))}),
        whole({}, length=2**40),
        whole({}, length=99_999_999),
    ]
    code = (
        "import resource, sys, tinygrad_edu as tg\n"
        "from tinygrad_edu.errors import StateFileError\n"
        "tg.ones(2) + 1; import safetensors, ml_dtypes\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (2**31, 2**31))\n"
        "try:\n    tg.load(sys.argv[1])\nexcept StateFileError as error:\n    print(error.tried)\n"
    )
    for size, claim in ((None, claims[0]), (None, claims[1]), (None, claims[2]), (2**40, whole({"a": entry()}))):
        path.write_bytes(claim)
        if size is not None:
            os.truncate(path, size)
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.stdout, done.stderr) == (f"load of {path}\n", "")


def test_nothing_is_unpickled() -> None:
    """`pickle` is not even imported by our code; what NumPy imports is its own affair."""
    source = (ROOT / "tinygrad_edu" / "state.py").read_text()
    assert not any(line.strip().startswith(("import pickle", "from pickle")) for line in source.splitlines())


def test_the_library_comes_when_it_is_used(path: Path) -> None:
    tg.save({}, path)
    done = run_python(
        "import sys, tinygrad_edu as tg\n"
        "tg.save; before = 'safetensors' in sys.modules\n"
        f"tg.load({str(path)!r}); print(before, 'safetensors' in sys.modules)"
    )
    assert (done.stdout, done.stderr) == ("False True\n", "")


# What is hostile --------------------------------------------------------------------------------------------------


HOSTILE: dict[str, tuple[Any, str]] = {
    "tensors": (lambda: whole({f"t{i}": entry(shape=(0,), offsets=(0, 0)) for i in range(100_001)}), "100,001 tensors"),
    "a long header": (lambda: struct.pack("<Q", 50_000_000) + b" " * 50_000_000, "50,000,000 bytes"),
    "deep lists": (lambda: whole(b'{"a":' + b"[" * 30_000_000), "30,000,001 values"),
    "deeper than Python reads": (lambda: whole(b'{"a":' + b"[" * 100_000), "RecursionError"),
    "many numbers": (lambda: whole(b'{"a":[' + b"1," * 2_000_001 + b"1]}"), "2,000,003 values"),
    "a product that overflows": (lambda: whole({"a": entry(shape=(2**62, 2**62), offsets=(0, 0))}), "overflow"),
    "overlapping": (lambda: whole({"a": entry(), "b": entry()}, b"1234"), "invalid offset"),
    "a name twice": (lambda: whole(b'{"a":{"data_offsets":[0,0]},"a":{"data_offsets":[0,0]}}'), "names 'a' twice"),
    "an integer without end": (lambda: whole(b'{"a":{"data_offsets":[0,' + b"9" * 400_000 + b"]}}"), "4300 digits"),
    "axes": (lambda: whole({"a": entry(shape=[1] * 100)}, b"1234"), "NumPy has no such array"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_at_once(name: str, path: Path) -> None:
    make, why = HOSTILE[name]
    path.write_bytes(make())
    began = time.perf_counter()
    tracemalloc.start()
    try:
        with pytest.raises(StateFileError, match=why):
            tg.load(path)
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - began < 5
