"""How many threads BLAS takes: read, set, refused, and out of reach without threadpoolctl."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import threads
from tinygrad_edu.errors import ArgumentError, DtypeError, MissingPackageError
from tinygrad_edu.observe import machine

threadpoolctl = pytest.importorskip("threadpoolctl")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = tg.get_num_threads()
    yield
    tg.set_num_threads(before)


def found() -> set[int]:
    """What threadpoolctl says of NumPy's library for products. Another package may have loaded its own since."""
    found = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
    own = [one for one in found if "numpy" in one["filepath"]] or found
    return {one["num_threads"] for one in own}


@pytest.mark.skipif(not threads._blas("").info(), reason="threadpoolctl does not know the BLAS here")
def test_what_is_set_is_there_in_whichever_thread() -> None:
    for count in (2, 1):
        tg.set_num_threads(count)
        assert (tg.get_num_threads(), found()) == (count, {count})
    other = threading.Thread(target=tg.set_num_threads, args=(2,))
    other.start()
    other.join()
    assert (tg.get_num_threads(), found()) == (2, {2})
    tg.set_num_threads(1)
    assert found() == {1}


@pytest.mark.skipif(not threads._blas("").info(), reason="threadpoolctl does not know the BLAS here")
def test_a_measurement_limits_them_and_puts_them_back() -> None:
    tg.set_num_threads(2)
    with machine.quiet():
        assert tg.get_num_threads() == 1
    assert tg.get_num_threads() == 2
    with machine.quiet(threads=None):
        assert tg.get_num_threads() == 2


WRONG: list[tuple[Any, Any, str]] = [
    (0, ArgumentError, "a product needs a thread at least"), (-1, ArgumentError, "a product needs a thread at least"),
    (2**31, ArgumentError, "BLAS counts its threads up to 2,147,483,647"),
    (1.5, DtypeError, "num is an integer, but this is a float"),
    (True, DtypeError, "num is an integer, but this is a bool"),
    ("2", DtypeError, "num is an integer, but this is a str"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "kind", "why"), WRONG, ids=str)
def test_what_is_refused(given: Any, kind: Any, why: str) -> None:
    before = tg.get_num_threads()
    with pytest.raises(kind, match=why):
        tg.set_num_threads(given)
    assert tg.get_num_threads() == before


def test_without_threadpoolctl(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = threads._found.copy()
    threads._found.clear()
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    why, mend = "only threadpoolctl reaches the threads of BLAS", "install it: pip install threadpoolctl"
    try:
        with teaches(MissingPackageError, "set_num_threads(1)", why, mend, "tg.set_num_threads"):
            tg.set_num_threads(1)
        with teaches(MissingPackageError, "get_num_threads()", why, mend, "tg.get_num_threads"):
            tg.get_num_threads()
    finally:
        threads._found.extend(kept)
