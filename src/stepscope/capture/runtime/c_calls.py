"""Calls into C that a sampled stack ends in.

C code has no frame: a thread that sleeps, sorts or waits for a lock is seen at the line that calls
it. Which call of that line it is, the instruction's place in the source says (Python 3.11 and
later), and what the call is of, the module's own names. Nothing of the program is run to find out:
no attribute of anything but a module is asked for.
"""

from __future__ import annotations

import builtins
import dis
import keyword
import linecache
import re
import sys
import tokenize
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple

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


# The names that an expression goes through; the first is "" where that is not a name.
_Chain = tuple[str, ...]
_NOT_A_NAME: Final = ("",)
# Keywords that are values.
_VALUES: Final = frozenset(("None", "True", "False"))
# Tokens between two of an expression that say nothing of it.
_BETWEEN: Final = frozenset((tokenize.NL, tokenize.COMMENT))
_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")


class CCalls:
    """Names of calls; each function's source is read once."""

    def __init__(self) -> None:
        self._calls: dict[CodeType, dict[tuple[int, int], _Chain]] = {}

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
        return self._of(code, places).get((line, column), ())

    def _of(self, code: CodeType, places: list[Any]) -> dict[tuple[int, int], _Chain]:
        """What calls of a function go through, by line and column, in bytes, of their ends."""
        if code not in self._calls:
            first, last = code.co_firstlineno, max((at[1] or 0 for at in places), default=0)
            lines = linecache.getlines(code.co_filename)[max(first - 1, 0) : last]
            self._calls[code] = {
                (row + first - 1, column): chain for row, column, chain in _calls_of(lines)
            }
        return self._calls[code]


def _calls_of(lines: list[str]) -> Iterator[tuple[int, int, _Chain]]:
    """Row, from 1 on, and column, in bytes, of the end of each call, with what it goes through.

    By tokens: in CPython 3.11 a thread that makes the objects of a tree (``ast``) while another one
    does so fails, whichever of the two, and programs read the heads of NumPy's files by it.
    """
    found = _Expressions()
    try:
        for kind, text, _start, (row, column), _line in tokenize.generate_tokens(
            iter(lines).__next__
        ):
            called = None if kind in _BETWEEN else found.take(kind, text)
            if called is not None:
                yield row, len(lines[row - 1][:column].encode()), called
    except (tokenize.TokenError, SyntaxError, ValueError, IndexError):  # changed since, or none
        return


class _Bracket(NamedTuple):
    """An open one: what it calls, None nothing, and whether it holds names alone so far."""

    called: _Chain | None
    is_plain: bool


class _Expressions:
    """Follows expressions token by token."""

    def __init__(self) -> None:
        # What "(" would call, and what a name after "." would be of; None nothing.
        self._chain: _Chain | None = None
        self._of: _Chain | None = None
        self._open: list[_Bracket] = []

    def take(self, kind: int, text: str) -> _Chain | None:
        """What the call goes through that ends with this token; None where none does."""
        called, of, self._of = None, self._of, None
        if kind != tokenize.OP:
            self._chain = _after(kind, text, of)
            self._holds(is_plain=kind == tokenize.NAME)
        elif text == ".":
            self._of, self._chain = self._chain, None
        elif text in _OPENS:
            self._holds(is_plain=False)
            self._open.append(_Bracket(self._chain if text == "(" else None, text == "("))
            self._chain = None
        elif text in _CLOSES:
            bracket = self._open.pop() if self._open else _Bracket(None, is_plain=False)
            called = bracket.called
            is_kept = called is None and bracket.is_plain and self._chain is not None
            self._chain = self._chain if is_kept else _NOT_A_NAME
        else:
            self._chain = None
            self._holds(is_plain=False)
        return called

    def _holds(self, *, is_plain: bool) -> None:
        if self._open and not is_plain:
            self._open[-1] = self._open[-1]._replace(is_plain=False)


def _after(kind: int, text: str, of: _Chain | None) -> _Chain | None:
    """What a call right after a token would go through; None if that is not called."""
    if kind == tokenize.NAME:
        if keyword.iskeyword(text):
            return _NOT_A_NAME if text in _VALUES else None
        return (*of, text) if of is not None else (text,)
    is_value = (
        kind in (tokenize.STRING, tokenize.NUMBER) or tokenize.tok_name[kind] == "FSTRING_END"
    )
    return _NOT_A_NAME if is_value else None


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
