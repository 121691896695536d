"""What a gap on the loop's thread lies between: the ops and calls around it that tell anything."""

from __future__ import annotations

import re

import numpy as np

from stepscope.columns.space import I32, I64, U8, Bool
from stepscope.tables.account.native import COMPILE, INPUT, OP, Native, is_view
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.steps.found import Markers

# What every program does around everything.
_USUAL = re.compile(
    r"^(?:TFE_|tf\.constant$|convert_to_tensor$|_?EagerConst$|EagerCopyToDevice|PythonRefManager|"
    r"ParallelFor$|descend$|ParseArguments|AllocateOutput|Handle inputs$|"
    r"(?:Const|Identity|Shape|StridedSlice|Pack|NoOp|ReadVariableOp|DestroyResourceOp)(?:_\d+)?$)"
)
# Of these kinds a gap is named before it is by other calls.
_TELLING = (OP, INPUT, COMPILE)


def gap_names(is_gap: Bool, kind: U8, event: I32, said: Native | None) -> tuple[I32, list[str]]:
    """A code of each moment's gap, -1 for others, and the words that the codes stand for.

    Args:
        is_gap: Of each moment: whether nothing was recorded in it.
        kind: What its event is.
        event: Its event in ``said``; -1 none.
        said: What was recorded on the thread.
    """
    code = np.full(len(is_gap), -1, dtype=np.int32)
    if said is None or len(is_gap) == 0:
        return code, []
    usual = np.asarray([_is_usual(name) for name, _type in said.named.labels] or [True])
    label = np.where((event >= 0) & ~is_gap, said.label[np.maximum(event, 0)], np.int32(-1))
    known = label >= 0
    telling: Bool = known & np.isin(kind, _TELLING) & ~usual[np.maximum(label, 0)]
    if not telling.any():
        telling = known
    gaps = np.flatnonzero(is_gap)
    if len(gaps) == 0:
        return code, []
    told, of_told = np.flatnonzero(telling), label[telling]
    after = np.searchsorted(told, gaps)  # none of them is a gap itself
    first = _labels(after - 1, of_told, after > 0)
    last = _labels(after, of_told, after < len(told))
    rows, pair = distinct_rows([first, last])
    code[gaps] = pair
    names = ["", *(name for name, _type in said.named.labels)]
    listed = zip(first[rows].tolist(), last[rows].tolist(), strict=True)
    return code, [_words(names[one + 1], names[other + 1]) for one, other in listed]


def between_marks(
    markers: Markers, start_ps: I64, code: I32, names: list[str]
) -> tuple[I32, list[str]]:
    """The same, where it is known what runs between the marks of steps: of all gaps there.

    Args:
        markers: Of the steps.
        start_ps: Of each moment.
        code: Of each moment, and ``names``: what ``gap_names`` found.
        names: The words.
    """
    if not markers.between:
        return code, names
    at = np.searchsorted(markers.start_ps, start_ps, side="right") - 1
    outside = (code >= 0) & (at >= 0) & (start_ps >= markers.mark_end_ps[np.maximum(at, 0)])
    if not outside.any():
        return code, names
    return np.where(outside, np.int32(len(names)), code), [*names, markers.between]


def _is_usual(name: str) -> bool:
    return is_view(name) or _USUAL.search(name) is not None


def _labels(at: I64, label: I32, known: Bool) -> I32:
    if len(label) == 0:
        return np.full(len(at), -1, dtype=np.int32)
    found: I32 = np.where(known, label[np.clip(at, 0, len(label) - 1)], np.int32(-1))
    return found


def _words(before: str, after: str) -> str:
    if before and after:
        return f"between {before} and {after}"
    return f"after {before}" if before else after and f"before {after}"
