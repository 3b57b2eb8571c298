"""Tensors and what goes with them, to a file and back: ``save`` and ``load``, in the safetensors format, no pickle.

The file is 8 bytes with the length of a header, the header in JSON (for each tensor its dtype, shape and place), and
then the elements. Anything that reads safetensors reads the tensors, under dotted names. What a flat list of tensors
cannot hold, such as nesting, numbers, text and the order of names, is stored as JSON in the header's metadata; `_pack`
and `_unpack` are its grammar. Reading such a file never runs code from it, whoever made it: that is the point of the
format.
"""

from __future__ import annotations

import json
import math
import operator
import os
import secrets
import shutil
import stat
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import IO, Any

import numpy as np

from . import backends
from .dtypes import as_dtype
from .errors import DtypeError, StateFileError
from .inputs.kinds import explained
from .tensor import Size, Tensor, wrap

_DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
    "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
}  # fmt: skip
_CODES = {name: code for code, name in _DTYPES.items()}
_TREE, _SUM = "tinygrad_edu.tree", "tinygrad_edu.crc32"  # two entries: one damaged name does not hide both
# Limits of a header, so that no file can ask for any amount of memory or time. The format itself allows 100 MB.
_MOST_HEADER = 32_000_000  # bytes
_MOST_TENSORS = 100_000
_MOST_VALUES = 2_000_000  # numbers, texts, lists and dicts, with those in the structure that `_pack` writes
_MOST_LEVELS = 100
_PIECE = 1 << 24  # bytes that are asked of an open file at a time
_MOST_BITS = 4096  # of an integer: Python reads no more than 4,300 digits
_ANOTHER = "use another copy of the file, or make it again with save()"

Path = str | os.PathLike[str]


@explained
def save(obj: Any, f: Path | IO[bytes]) -> None:
    """Write tensors, and what goes with them, to the file ``f``: a state dict, or a whole checkpoint.

    ``f`` is a path, or a file that is open for writing bytes, such as an ``io.BytesIO``.

    ``obj`` is a tensor, number, text, bool or None, or dicts, lists and tuples of these, at any depth; keys are text,
    numbers, bools or None. NumPy's scalars are kept as Python's numbers. A dict of names and tensors becomes an
    ordinary safetensors file. Every name gets its own elements: shared memory is written once for each tensor, and
    memory that a view does not show is not written. Gradients and graphs are left out.

    At a path the file appears whole or not at all: it is first written under another name and then moved. A process
    that is killed leaves the old file as it was, and perhaps a hidden one, ``.saving-….tmp``, that can be deleted.

    Raises `DtypeError` for what cannot be written, and names its place; `StateFileError` where no file can be made.

    >>> import tempfile
    >>> import tinygrad_edu as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tg.save({"weight": tg.ones(2), "epoch": 3, "betas": (0.9, 0.999)}, f"{folder}/model.safetensors")
    ...     tg.load(f"{folder}/model.safetensors")
    {'weight': tensor([1., 1.]), 'epoch': 3, 'betas': (0.9, 0.999)}
    """
    stream = _stream("save", f, "write")
    path = _shown(f) if stream else _target(_path("save", f))
    tensors: dict[str, Any] = {}
    tree = json.dumps(_pack(obj, [], tensors), separators=(",", ":"))
    # Wide elements first, so that each tensor starts at a multiple of its element's size.
    arrays = dict(sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize))
    header = _header(arrays, tree)
    if absurd := _absurd(header):
        raise StateFileError(f"save to {path}", f"its {absurd}", "put long lists of numbers into tensors")
    with nullcontext(stream) if stream else _in_place_of(path) as file:
        _write(file, struct.pack("<Q", len(header)) + header)
        for array in arrays.values():
            _write(file, _bytes(array))


@explained
def load(f: Path | IO[bytes], map_location: str | None = None, *, weights_only: bool | None = None) -> Any:
    """What `save` has written to the file ``f``, or the dict of names and tensors of any other safetensors file.

    ``f`` is a path, or a file that is open for reading bytes: it is read from its present position, and no further
    than the end of what was saved.

    The tensors have their own memory and require no grad. They live on the device ``map_location``, by default the
    CPU. ``weights_only`` changes nothing: a file cannot contain what PyTorch keeps out with it. Raises `StateFileError`
    for a file that is cut short, damaged or in another format, and then returns nothing; an error of the system, such
    as `FileNotFoundError`, passes through.
    """
    stream = _stream("load", f, "read")
    path = _shown(f) if stream else _path("load", f)
    device = backends.get(map_location or backends.CPU.name)
    arrays, metadata = _read(path, stream)
    if not any(_near(key, name) for key in metadata for name in (_TREE, _SUM)):
        return {name: wrap(device.from_numpy(array)) for name, array in arrays.items()}
    tree = metadata.get(_TREE, "")
    if metadata.get(_SUM) != _checksum(arrays, tree):
        raise _spoilt(path, "its checksum does not fit: bytes have changed since it was written")
    try:
        found = _unpack(json.loads(tree), lambda name: wrap(device.from_numpy(arrays.pop(name))))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _spoilt(path, f"the structure in its metadata cannot be read ({type(error).__name__}: {error})") from None
    if arrays:
        raise _spoilt(path, f"the structure in its metadata does not name the tensor {next(iter(arrays))!r}")
    return found


# What is in the file ----------------------------------------------------------------------------------------------


def _pack(value: Any, path: list[Any], tensors: dict[str, Any]) -> Any:
    """``value`` in JSON's terms; its tensors go into ``tensors``. What JSON cannot write gets a dict of one entry:

    ``{"tensor": name}``, ``{"tuple": […]}``, ``{"dict": [[key, value], …]}``, ``{"float": "inf"}``.
    """
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        value = value.item()
    kind = type(value)
    if len(path) > _MOST_LEVELS:
        raise _unwritable(path[:3], f"it nests deeper than {_MOST_LEVELS} levels, or holds itself", "make it flatter")
    if kind in (list, tuple, Size):
        items = [_pack(item, [*path, i], tensors) for i, item in enumerate(value)]
        return items if kind is list else {"tuple": items}
    if isinstance(value, dict):
        return {"dict": [[_pack_key(k, path), _pack(v, [*path, k], tensors)] for k, v in value.items()]}
    if isinstance(value, Tensor):
        name = _name(path, tensors)
        tensors[name] = np.asarray(backends.of(value.array).to_numpy(value.array), order="C")
        return {"tensor": name}
    if kind is float and not math.isfinite(value):
        return {"float": str(value)}
    if kind is int and value.bit_length() > _MOST_BITS:
        raise _unwritable(path, f"an integer of {value.bit_length():,} bits is too long", "write it as text: str(x)")
    if value is None or kind in (bool, int, float, str):
        return value
    mend = "leave it out, or describe it in text"
    if isinstance(value, np.ndarray):
        mend = "make a tensor of it: tensor(x)"
    elif hasattr(value, "state_dict"):  # a module, an optimiser, a scheduler
        mend = "save what it gives for this: x.state_dict()"
    raise _unwritable(path, f"a {kind.__name__} cannot be written without pickle, which runs code when read", mend)


def _pack_key(key: Any, path: list[Any]) -> Any:
    if isinstance(key, (Tensor, list, tuple, dict)):
        why = f"a key is text or a number, but one here is a {type(key).__name__}"
        raise _unwritable(path, why, "make text of it: str(key)")
    return _pack(key, path, {})


def _unpack(node: Any, tensor: Callable[[str], Tensor]) -> Any:
    """The value from which `_pack` made ``node``. ``tensor`` gives each tensor once, by name."""
    if isinstance(node, list):
        return [_unpack(item, tensor) for item in node]
    if not isinstance(node, dict):
        return node
    ((word, inside),) = node.items()
    if word == "tensor":
        return tensor(inside)
    if word == "float" and inside in ("inf", "-inf", "nan"):
        return float(inside)
    if word == "tuple" and isinstance(inside, list):
        return tuple(_unpack(item, tensor) for item in inside)
    if word == "dict":
        found = {_unpack(key, tensor): _unpack(value, tensor) for key, value in inside}
        if len(found) == len(inside):
            return found
    raise ValueError(f"{word!r} with {inside!r:.60}")


def _name(path: list[Any], taken: dict[str, Any]) -> str:
    """The tensor's name in the file: the keys that lead to it, joined by dots, and a number if that name is taken."""
    name = stem = ".".join(str(key).encode(errors="backslashreplace").decode() for key in path) or "tensor"
    count = 1
    while name in taken or name == "__metadata__":
        count += 1
        name = f"{stem}#{count}"
    return name


def _near(key: str, name: str) -> bool:
    """Is it this name, or was it, before a byte or two were changed?"""
    return len(key) == len(name) and sum(map(operator.ne, key, name)) <= 2


def _header(arrays: dict[str, Any], tree: str) -> bytes:
    # "pt": names and axes are PyTorch's. Tools of Hugging Face ask for this entry.
    metadata = {"format": "pt", _TREE: tree, _SUM: _checksum(arrays, tree)}
    header: dict[str, Any] = {"__metadata__": metadata}
    start = 0
    for name, array in arrays.items():
        place = [start, start := start + array.nbytes]
        header[name] = {"dtype": _CODES[array.dtype.name], "shape": array.shape, "data_offsets": place}
    text = json.dumps(header, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8)


def _checksum(arrays: dict[str, Any], tree: str) -> str:
    """Over everything that counts, so that no changed byte goes unseen; safetensors itself has none."""
    found = zlib.crc32(tree.encode(errors="backslashreplace"))
    for name, array in sorted(arrays.items()):
        found = zlib.crc32(_bytes(array), zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), found))
    return f"{found:08x}"


def _bytes(array: Any) -> Any:
    return array.reshape(-1).view(np.uint8)


# Reading ----------------------------------------------------------------------------------------------------------


def _read(path: str, stream: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """All arrays by name, in the header's order, and the metadata. The library checks lengths and places."""
    from safetensors import SafetensorError, deserialize  # takes 10 ms, so only programs that use it pay for it

    header, content = _flow(path, stream) if stream else _content(path)
    try:
        parts = dict(deserialize(content))  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise _spoilt(path, str(error).partition(": ")[2] or str(error)) from None  # less "Error while …"
    metadata = header.pop("__metadata__", None) or {}
    return {name: _array(path, name, **parts[name]) for name in header}, metadata


def _content(path: str) -> tuple[dict[str, Any], bytes]:
    """The header in Python's terms, and all bytes of the file. No more are read than the header announces.

    The file is opened once, because `save` may put another in its place at any moment.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # before it is opened: a pipe would wait for a writer
        raise _spoilt(path, "it is not a regular file")
    with open(path, "rb") as file:
        start = file.read(8)
        length = int.from_bytes(start, "little")
        rest = os.fstat(file.fileno()).st_size - 8 - length
        if rest < 0:
            raise _spoilt(path, "it ends before its header does, or has none", _mend(start))
        if length > _MOST_HEADER:
            raise _spoilt(path, f"its {_too_long(length)}", _mend(start))
        text = file.read(length)
        if absurd := _absurd(text):
            raise _spoilt(path, f"its {absurd}")
        header, end = _places(path, text)
        if end != rest:
            raise _spoilt(path, f"its header announces {end!r:.20} bytes of tensors, but {rest} follow")
        file.seek(0)  # in one piece: the library takes nothing else
        content = file.read(8 + length + rest)
        if not content.startswith(start + text):
            raise _spoilt(path, "somebody wrote to it while it was read", "read it again when it is complete")
        return header, content


def _flow(name: str, stream: Any) -> tuple[dict[str, Any], bytes]:
    """The same from an open file, which cannot be asked how long it is."""
    start = _take(stream, 8)
    length = int.from_bytes(start, "little")
    if len(start) == 8 and length > _MOST_HEADER:
        raise _spoilt(name, f"its {_too_long(length)}", _mend(start))
    text = _take(stream, length)
    if len(start) < 8 or len(text) < length:
        why = "it ends before its header does, or has none"
        mend = "go back to its beginning first: f.seek(0)" if not start else _mend(start)
        raise _spoilt(name, why, mend)
    if absurd := _absurd(text):
        raise _spoilt(name, f"its {absurd}")
    header, end = _places(name, text)
    if type(end) is not int:
        raise _spoilt(name, f"its header announces {end!r:.20} bytes of tensors")
    elements = _take(stream, end)
    if len(elements) < end:
        raise _spoilt(name, f"its header announces {end!r:.20} bytes of tensors, but {len(elements)} follow")
    return header, start + text + elements


def _take(stream: Any, count: int) -> bytes:
    """So many bytes, or fewer where the file ends. They are read in pieces: ``count`` may be anything."""
    parts: list[bytes] = []
    while count > 0 and (part := stream.read(min(count, _PIECE))):
        if not isinstance(part, bytes):
            why, mend = f"its read() gives {type(part).__name__}", "open it for bytes: open(path, 'rb')"
            raise DtypeError(f"load of {_shown(stream)}", why, mend)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _too_long(length: int) -> str:
    return f"header takes {length:,} bytes, but {_MOST_HEADER:,} is the most"


def _absurd(header: bytes) -> str:
    """What the header has too much of. Only bytes are counted: what they ask for is never made."""
    if len(header) > _MOST_HEADER:
        return _too_long(len(header))
    tensors = header.count(b'"data_offsets"')
    if tensors > _MOST_TENSORS:
        return f"header lists {tensors:,} tensors, but {_MOST_TENSORS:,} is the most"
    values = sum(map(header.count, (b",", b"[", b"{")))
    return f"header holds {values:,} values, but {_MOST_VALUES:,} is the most" if values > _MOST_VALUES else ""


def _places(path: str, text: bytes) -> tuple[dict[str, Any], Any]:
    """The header, and where it lets the last tensor end. The library will check the rest."""
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return found

    try:
        header = json.loads(text, object_pairs_hook=once)
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        end = max(ends, default=0)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise _spoilt(path, f"its header cannot be read ({type(error).__name__}: {error!s:.60})") from None
    if twice:  # the library takes the last
        raise _spoilt(path, f"its header names {twice[0]!r} twice")
    return header, end


def _array(path: str, name: str, dtype: str, shape: list[int], data: bytearray) -> Any:
    """One tensor's elements, as the library has cut them out."""
    if dtype not in _DTYPES:
        why = f"tensor {name!r} has dtype {dtype}, which does not exist here"
        raise _spoilt(path, why, "convert it first, in the library that wrote it: to float32, say")
    try:
        array = np.ndarray(shape, as_dtype(_DTYPES[dtype]), data)
    except ValueError as error:
        raise _spoilt(path, f"NumPy has no such array ({error})") from None  # 70 axes, or (2**62, 0)
    if dtype == "BOOL" and _bytes(array).max(initial=0) > 1:
        raise _spoilt(path, f"tensor {name!r} holds bools that are neither 0 nor 1")
    return array


def _mend(start: bytes) -> str:
    if start[:2] in (b"PK", b"\x80\x02") and start[4:] != bytes(4):  # zeros would be the length of a header
        return "PyTorch's own files are pickles: in PyTorch, use safetensors.torch.save_file(state, path)"
    return _ANOTHER


# Files ------------------------------------------------------------------------------------------------------------


def _target(path: str) -> str:
    """Where the file will be: a link stays a link, and the file that it points to is replaced."""
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        mend = f"make it first: os.makedirs({folder!r})"
        raise StateFileError(f"save to {path}", "there is no such folder", mend)
    if os.path.exists(path) and not os.path.isfile(path):
        raise StateFileError(f"save to {path}", "what is there is not a regular file", "choose another name")
    return path


@contextmanager
def _in_place_of(path: str) -> Iterator[IO[bytes]]:
    """A new file that takes the place of ``path`` in one move when the block ends well, and vanishes if not.

    It is in the same folder, because only there is a move one step, and has a unique name, so two writers do not mix.
    Its bytes are on the disk before it moves. On Windows the move fails while a reader has the file open.
    """
    folder = os.path.dirname(path)
    beside = os.path.join(folder, f".saving-{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.remove(beside)
        raise
    if os.name == "posix":  # the move is on the disk once the folder is
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _stream(what: str, f: Any, verb: str) -> Any:
    """``f`` itself where it is an open file, and None where it is a path. Raises `DtypeError` for a file of text."""
    if isinstance(f, (str, bytes, os.PathLike)) or not callable(getattr(f, verb, None)):
        return None
    able = getattr(f, "writable" if verb == "write" else "readable", None)
    wrong = "for text" if hasattr(f, "encoding") else "the other way" if able and not able() else ""
    if wrong:
        mend = f"open it for bytes: open(path, '{verb[0]}b')"
        raise DtypeError(f"{what} with f={_shown(f)}", f"the file is open {wrong}", mend)
    return f


def _shown(stream: Any) -> str:
    name = getattr(stream, "name", "")
    return name if name and isinstance(name, str) else f"a {type(stream).__name__}"


def _write(file: Any, part: Any) -> None:
    """All bytes of it: a file without a buffer may take some at a time."""
    rest = memoryview(part)
    while len(rest):
        count = file.write(rest)
        rest = rest[count if isinstance(count, int) else len(rest) :]


def _path(what: str, f: Any) -> str:
    try:
        return os.fsdecode(f)
    except TypeError:
        why, mend = "a file is given as a path, or open for bytes", "give it a name, as text"
        raise DtypeError(f"{what} with f={type(f).__name__}", why, mend) from None


def _spoilt(path: str, why: str, mend: str = _ANOTHER) -> StateFileError:
    return StateFileError(f"load of {path}", why, mend)


def _unwritable(path: list[Any], why: str, mend: str) -> DtypeError:
    return DtypeError(f"save of obj{''.join(f'[{key!r}]' for key in path)}", why, mend)
