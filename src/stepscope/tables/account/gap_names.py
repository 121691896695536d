"""What a gap on the loop's thread lies between: the ops and calls around it that tell anything."""

from __future__ import annotations

import re

import numpy as np

from stepscope.columns.space import I64, U8, Bool
from stepscope.tables.account.native import COMPILE, INPUT, OP, Native, is_view
from stepscope.tables.core.distinct_rows import distinct_rows

# What every program does around everything.
_USUAL = re.compile(
    r"^(?:TFE_|tf\.constant$|convert_to_tensor$|_?EagerConst$|EagerCopyToDevice|PythonRefManager|"
    r"ParallelFor$|descend$|ParseArguments|AllocateOutput|Handle inputs$|"
    r"(?:Const|Identity|Shape|StridedSlice|Pack|NoOp|ReadVariableOp|DestroyResourceOp)(?:_\d+)?$)"
)
# Of these kinds a gap is named before it is by other calls.
_TELLING = (OP, INPUT, COMPILE)


def gap_names(is_gap: Bool, kind: U8, event: I64, said: Native | None) -> tuple[I64, list[str]]:
    """A code of each moment's gap, -1 for others, and the words that the codes stand for.

    Args:
        is_gap: Of each moment: whether nothing was recorded in it.
        kind: What its event is.
        event: Its event in ``said``; -1 none.
        said: What was recorded on the thread.
    """
    code = np.full(len(is_gap), -1, dtype=np.int64)
    if said is None or len(is_gap) == 0:
        return code, []
    usual = np.asarray([_is_usual(name) for name, _type in said.named.labels] or [True])
    label = np.where((event >= 0) & ~is_gap, said.label[np.maximum(event, 0)], -1)
    known = label >= 0
    telling: Bool = known & np.isin(kind, _TELLING) & ~usual[np.maximum(label, 0)]
    if not telling.any():
        telling = known
    at = np.arange(len(is_gap))
    before = np.maximum.accumulate(np.where(telling, at, -1))
    after = np.minimum.accumulate(np.where(telling, at, len(at))[::-1])[::-1]
    gaps = np.flatnonzero(is_gap)
    if len(gaps) == 0:
        return code, []
    first = _labels(before[gaps], label, before[gaps] >= 0)
    last = _labels(after[gaps], label, after[gaps] < len(at))
    rows, pair = distinct_rows([first, last])
    code[gaps] = pair
    names = ["", *(name for name, _type in said.named.labels)]
    listed = zip(first[rows].tolist(), last[rows].tolist(), strict=True)
    return code, [_words(names[one + 1], names[other + 1]) for one, other in listed]


def _is_usual(name: str) -> bool:
    return is_view(name) or _USUAL.search(name) is not None


def _labels(at: I64, label: I64, known: Bool) -> I64:
    found: I64 = np.where(known, label[np.clip(at, 0, len(label) - 1)], -1)
    return found


def _words(before: str, after: str) -> str:
    if before and after:
        return f"between {before} and {after}"
    return f"after {before}" if before else after and f"before {after}"
