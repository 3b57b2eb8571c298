"""The user's line: which instruction outside this package asked for what is happening now.

Every node and every write notes it, so noting has to be cheap: two pointers now, resolved to a file and a row when
somebody asks.
"""

from __future__ import annotations

import linecache
import os
import sys
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any

Line = tuple[CodeType, int] | None  # a code object and the offset of an instruction in it

PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_WIDGETS = f"{os.sep}tinygrad_edu_widgets{os.sep}"
_GENERATED = "<compiled program"  # how files of generated functions begin: see `compiler`
_CONTEXTLIB = os.path.join(os.path.dirname(os.__file__), "contextlib.py")  # it calls context managers of ours


class _Own(dict[str, bool]):
    """Whether a source file belongs to this package or to its widgets: its frames are not the user's line."""

    def __missing__(self, filename: str) -> bool:
        here = filename.startswith((PACKAGE, _GENERATED)) or _WIDGETS in filename
        self[filename] = own = here or filename == _CONTEXTLIB
        return own


own = _Own()


def user_line() -> Line:
    """The innermost instruction outside this package."""
    frame: Any = sys._getframe(1)
    while own[frame.f_code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line, however deep inside this package the reason is found."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and own[frame.f_code.co_filename]:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def failing_line(error: BaseException) -> Line:
    """The line of the program from which an error came: of the first function outside this package, if there is one."""
    step = error.__traceback__
    while step is not None and own[step.tb_frame.f_code.co_filename]:
        step = step.tb_next
    return None if step is None else (step.tb_frame.f_code, step.tb_lasti)


def pose_as_file(name: str, source: Callable[[], str]) -> str:
    """A file name for generated code. No such file exists, but a traceback that looks up its lines finds them."""
    file = f"{PACKAGE}generated/{name}.py"
    cache: Any = linecache.cache
    cache[file] = (source,)  # called when somebody looks
    return file


def resolve_line(line: Line) -> tuple[str, int] | None:
    """File name and line number of a noted instruction."""
    if line is None:
        return None
    code, offset = line
    for start, end, row in code.co_lines():
        if start <= offset < end and row is not None:
            return code.co_filename, row
    return code.co_filename, code.co_firstlineno


def cell_of(file: str) -> str:
    """``cell In[4]``, as IPython names it in a traceback, if the file is a cell of a notebook."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    named = shell.compile.format_code_name(file) if shell is not None else None
    return f"cell {named[1]}" if named else ""


def describe_line(line: Line) -> str:
    """``file.py, line 12: source text`` of a noted instruction, as far as it is known."""
    found = resolve_line(line)
    if found is None:
        return ""
    import linecache

    file, row = found
    text = linecache.getline(file, row).strip()
    nameless = file.startswith("<") or "ipykernel" in file
    shown = cell_of(file) or ("this cell" if nameless else os.path.basename(file))
    return f"{shown}, line {row}: {text}" if text else f"{shown}, line {row}"
