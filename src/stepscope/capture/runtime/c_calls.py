"""Calls into C that a sampled stack ends in.

C code has no frame: a thread that sleeps, sorts or waits for a lock is seen at the line that calls
it. Which call of that line it is, the instruction's place in the source says (Python 3.11 and
later), and what the call is of, the module's own names. Nothing of the program is run to find out:
no attribute of anything but a module is asked for.
"""

from __future__ import annotations

import ast
import builtins
import dis
import linecache
import re
import sys
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Final

from stepscope.schema import names

# What waits for a thread or a socket, whatever it is a method of.
_ACQUIRE: Final = "acquire"
_WAITS: Final = frozenset((_ACQUIRE, "select", "poll", "recv", "recv_into", "accept"))
# What goes over a whole list, or makes a new one of it, whatever it is a method of.
_GOES_OVER: Final = frozenset(
    ("index", "count", "remove", "insert", "sort", "extend", "split", "replace", "encode", "decode")
)
# A ``with`` that is written in C waits for a lock: what files and others do there takes no time.
# (Python 3.14 calls what it enters, and so says nothing of it.)
_ENTERS_WITH: Final = "BEFORE_WITH"
_CALLS: Final = re.compile(r"(?:PRE)?CALL(?:_|$)")
# What these call in C dispatches ops: their own recorders say more.
_FRAMEWORKS: Final = re.compile(r"(?:tensorflow|keras|tf_keras|jax|jaxlib|torch)\b")
# But of PyTorch's what makes a tensor of lists: there Python's objects take the time, and no op.
_TORCH: Final = "torch"
_CONVERTS: Final = frozenset(("tensor", "as_tensor", "asarray"))
_OF_MODULE: Final = 2  # names in ``torch.tensor``
_NO_PLACE: Final = (None, None, None, None)


class CCalls:
    """Names of calls; each file's source is read once."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[tuple[int, int], ast.Call]] = {}

    def name(self, code: CodeType, instruction: int, module: str) -> str:
        """The call as recordings name it, ``$time sleep``; "" where that is not known.

        Args:
            code: Of the thread's innermost frame.
            instruction: ``f_lasti`` of the frame.
            module: Name of the module whose names the frame sees.
        """
        if sys.version_info < (3, 11) or instruction < 0:
            return ""
        opcode = dis.opname[code.co_code[instruction]]
        if opcode == _ENTERS_WITH:
            return names.PYTHON_CALL_MARK + names.LOCK_CALL
        if not _CALLS.match(opcode):
            return ""
        called = self._called(code, instruction)
        known = _resolved(called, module) if called else ""
        if not known and len(called) > 1 and called[-1] in (*_WAITS, *_GOES_OVER):
            known = names.LOCK_CALL if called[-1] == _ACQUIRE else f"<unknown> {called[-1]}"
        if not known and called[-1:] and called[-1] in _CONVERTS and _is_torch(called, module):
            known = f"<unknown> {_TORCH}.{called[-1]}"
        return names.PYTHON_CALL_MARK + known if known else ""

    def _called(self, code: CodeType, instruction: int) -> tuple[str, ...]:
        """The names a call goes through, ("np", "random", "choice"); () of another expression."""
        places = list(code.co_positions())
        at = instruction // 2
        _first, line, _begin, column = places[at] if at < len(places) else _NO_PLACE
        if line is None or column is None:
            return ()
        # Where a call begins, its instruction does not say exactly if it is on several lines.
        found = self._of_file(code.co_filename).get((line, column))
        if found is None:
            return ()
        parts: list[str] = []
        one: ast.expr = found.func
        while isinstance(one, ast.Attribute):
            parts.append(one.attr)
            one = one.value
        parts.append(one.id if isinstance(one, ast.Name) else "")
        return tuple(reversed(parts))

    def _of_file(self, file: str) -> dict[tuple[int, int], ast.Call]:
        """A file's calls by line and column, in bytes, of their ends; none of one not kept."""
        if file not in self._calls:
            self._calls[file] = _calls_of("".join(linecache.getlines(file)))
        return self._calls[file]


def _calls_of(source: str) -> dict[tuple[int, int], ast.Call]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # changed since, or none
        return {}
    return {
        (one.end_lineno or 0, one.end_col_offset or 0): one
        for one in ast.walk(tree)
        if isinstance(one, ast.Call)
    }


def _is_torch(called: tuple[str, ...], module: str) -> bool:
    """Whether a call is ``torch.tensor(…)``, whatever the program calls the module."""
    home: object = sys.modules.get(module)
    if not isinstance(home, ModuleType) or len(called) != _OF_MODULE:
        return False
    of = vars(home).get(called[0])
    return isinstance(of, ModuleType) and of.__name__ == _TORCH


def _resolved(called: tuple[str, ...], module: str) -> str:
    """Module and name of a function written in C; "" where it is not, or not found."""
    home: object = sys.modules.get(module)
    one: object = home
    last = ""
    for place, last in enumerate(called):
        if not isinstance(one, ModuleType):
            return ""
        home = one if place or last in vars(one) else builtins
        one = vars(home).get(last)
    if not isinstance(home, ModuleType) or not callable(one):
        return ""
    # NumPy's random functions are methods of an object, and written in C.
    code = one.__func__ if isinstance(one, MethodType) else one
    if isinstance(code, FunctionType) or (isinstance(code, type) and home != builtins):
        return ""
    of: object = home.__name__
    name: object = last
    if len(called) == 1 and home != builtins:  # imported by itself, maybe by another name
        of, name = getattr(one, "__module__", None), getattr(one, "__name__", None)
    is_known = isinstance(of, str) and isinstance(name, str) and not _FRAMEWORKS.match(of)
    return f"{of} {name}" if is_known else ""
