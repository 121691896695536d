"""Between which named calls a moment lies: a place where no line of the program was recorded."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from stepscope.columns.space import I64
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.calls import function_calls, is_single_op


@dataclass(frozen=True, eq=False, slots=True)
class Between:
    """The calls of compiled functions on the loop's thread, ascending.

    Attributes:
        start_ps, end_ps: Of each call.
        name: Index into ``names``.
        names: Of the functions.
    """

    start_ps: I64
    end_ps: I64
    name: I64
    names: tuple[str, ...]

    def at(self, time_ps: I64) -> I64:
        """A code of the calls around each time; -1 inside of one, and before and after all."""
        before = np.searchsorted(self.start_ps, time_ps, side="right") - 1
        inside = (before >= 0) & (before < len(self.start_ps) - 1)
        at = np.clip(before, 0, len(self.start_ps) - 2)
        inside &= time_ps >= self.end_ps[at]
        pair = self.name[at] * len(self.names) + self.name[at + 1]
        code: I64 = np.where(inside, pair, -1)
        return code

    def text(self, code: int) -> str:
        """The calls that a code stands for."""
        before, after = divmod(code, len(self.names))
        return f"between {_public(self.names[before])} and {_public(self.names[after])}"


# What Keras 3 calls the functions behind its methods.
_KERAS = ((re.compile(r"_step_on_data"), "predict"), (re.compile(r"_step_on_iterator"), "fit"))


def _public(name: str) -> str:
    """A function's name, with the method that people call where the name is Keras' own."""
    method = next((method for pattern, method in _KERAS if pattern.search(name)), "")
    return f"{name} ({method})" if method else name


def between(host: Host, line: int) -> Between | None:
    """None where fewer than two functions are called: between two calls of one lies all else."""
    found = [
        one
        for one in function_calls(host)
        if one.kind == "call" and one.line == line and not is_single_op(one.name)
    ]
    if len(found) < 2:
        return None
    names = sorted({one.name for one in found})
    start = np.concatenate([one.start_ps for one in found])
    end = np.concatenate([one.end_ps for one in found])
    name = np.repeat([names.index(one.name) for one in found], [len(one) for one in found])
    order = np.argsort(start, kind="stable")
    return Between(start[order], end[order], name[order].astype(np.int64), tuple(names))
