"""The host's plane: ops, annotations, calls of the GPU's runtime, steps and allocations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import by_place
from stepscope.formats.kineto import memory, steps
from stepscope.formats.kineto.annotations import Annotations, annotations_of
from stepscope.formats.kineto.names import op_name
from stepscope.formats.kineto.reading.args import NONE
from stepscope.formats.kineto.reading.categories import KIND
from stepscope.formats.kineto.reading.trace import Trace
from stepscope.formats.kineto.slices import RowNumbers, Slices, match, row_numbers, unsigned
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.line_parts import LineParts
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.records import dataclass, replace
from stepscope.schema import names

_STEP: Final = re.compile(re.escape(names.PYTORCH_STEP) + r"(\d{1,18})")
_LOADER: Final = "enumerate(DataLoader)"
# The iterator of a loader without worker processes.
_ALONE: Final = f"{_LOADER}#_SingleProcessDataLoaderIter"
_SHAPES: Final = "Input Dims"
#: What ``cid`` and ``cbid`` mean, the name of the call says; ``finished`` is true of all.
_SAID_ELSEWHERE: Final = frozenset({_SHAPES, "cbid", "cid", "finished"})
# The type of the context: ours alone, so that no runtime's contexts are confused with it.
_CONTEXT_TYPE: Final = 1_000_001


def host_plane(
    trace: Trace,
    slices: Slices,
    *,
    ops: bool,
    count: steps.StepCount | None,
    marks: Sequence[steps.StepMark] = (),
) -> PlaneWriter:
    """The plane, one line per thread.

    Args:
        trace: The recording.
        slices: Its slices.
        ops: Whether ops are kept.
        count: Steps so far: the optimizer's become marked steps where nothing else is (None:
            they do not).
        marks: Steps that the program's loop reported.
    """
    plane = PlaneWriter(names.HOST_PLANE)
    said = annotations_of(slices)
    slices.kind[said.is_one] = KIND["annotation"]
    shown = slices.is_kind("annotation", "runtime", "overhead", *(["op"] if ops else []))
    is_op = slices.is_kind("op")
    op_names = slices.name_ids(plane, np.flatnonzero(is_op & shown), op_name)
    other_names = slices.name_ids(plane, np.flatnonzero(~is_op & shown), said.label)
    lines = {place: LineParts() for place in np.unique(slices.place[shown]).tolist()}
    memory.add_instants(trace, slices, plane, lambda place: lines.setdefault(place, LineParts()))
    are_marked = said.has(names.STEP_NUM) or len(marks) > 0
    found = None
    if count is not None and not are_marked:
        found = steps.training_steps(slices, count) or steps.engine_steps(slices, count)
    if found is not None:
        code = np.full(len(found.number), plane.name(found.name))
        by = np.full(len(found.number), plane.text(found.marked_by))
        numbers = [*_step_stats(found.number), Stat(names.MARKED_BY, by, is_text=True)]
        line = lines.setdefault(found.place, LineParts())
        line.add(code, found.start_ns, found.duration_ns, numbers)
    _add_marks(slices, plane, marks, lines)
    stats = _HostStats(trace, slices, plane, said)
    # Each line is written before the next is put together: what it is made of is as large again.
    for place, mine in by_place(slices.place, np.flatnonzero(shown).astype(np.int32)):
        code = np.where(is_op[mine], op_names.of(mine), other_names.of(mine))
        lines[place].add(code, slices.start_ns[mine], slices.duration_ns[mine], stats.of(mine))
        lines.pop(place).write(plane, *slices.thread(place))
    for place, part in lines.items():
        part.write(plane, *slices.thread(place))
    for key, value in sorted(trace.head.items()):
        if key.endswith("_version") and isinstance(value, (int, float, str)):
            plane.stat(key, str(value))
    return plane


def _add_marks(
    slices: Slices,
    plane: PlaneWriter,
    marks: Sequence[steps.StepMark],
    lines: dict[int, LineParts],
) -> None:
    """Put steps on the lines of the threads that reported them, whatever else is shown there."""
    place_of = {slices.thread(place)[0]: place for place in np.unique(slices.place).tolist()}
    for thread in dict.fromkeys(mark.thread for mark in marks):
        mine = [mark for mark in marks if mark.thread == thread]
        if thread in place_of:
            lines.setdefault(place_of[thread], LineParts()).add(
                plane.names(mark.name for mark in mine),
                np.asarray([mark.start_ns for mark in mine]),
                np.asarray([mark.duration_ns for mark in mine]),
                _step_stats(np.asarray([mark.number for mark in mine])),
            )


def _step_stats(number: I64) -> list[Stat]:
    return [Stat(names.STEP_NUM, number), Stat(names.ROOT_LEVEL, np.ones(len(number), np.int64))]


class _HostStats:
    """The stats of host slices; what holds for a name is decided once."""

    def __init__(self, trace: Trace, slices: Slices, plane: PlaneWriter, said: Annotations) -> None:
        self._trace = trace
        self._slices = slices
        self._annotated = said.stats(plane)
        self._args(plane)
        self._arrows = _arrow_ends(trace, slices)
        self._step = np.asarray([_step_number(name) for name in slices.names] or [NONE])
        self._loads = slices.of_name(lambda name: name.startswith(_LOADER))
        self._calls = slices.is_kind("runtime") & (slices.correlation > 0)
        # Viewers that do not know PyTorch's loader know these stats.
        self._stage, self._category = plane.text("DataLoader"), plane.text("preprocessing")
        self._alone = slices.of_name(lambda name: name.startswith(_ALONE))
        self._stage_alone = plane.text(names.LONELY_LOADER) if self._alone.any() else 0

    def _args(self, plane: PlaneWriter) -> None:
        """Shapes, sequence numbers, and whatever else the events say of themselves."""
        slices, args = self._slices, self._slices.args
        rows = slices.rows("op", "annotation", "runtime", "overhead")
        dims = args.by_chain(_SHAPES)
        shapes = slices.text_ids(
            plane, args.chain, rows, lambda chain: self._shape(int(dims[chain]))
        )
        said = slices.text_ids(
            plane, args.chain, rows, lambda chain: args.json(chain, _SAID_ELSEWHERE)
        )
        self._texts = ((names.SHAPE, shapes), (names.ARGUMENTS, said))
        at, sequence = args.rows("Sequence number")
        is_one = slices.is_kind("op")[at] & (sequence >= 0)
        self._numbers = (
            (names.SEQUENCE_NUMBER, row_numbers(at[is_one], sequence[is_one])),
            (names.GRAPH_NODE, row_numbers(*args.rows("graph node id"))),
        )

    def _shape(self, number: int) -> str:
        dims = self._trace.texts.value(number)
        return str(dims) if dims else ""

    def of(self, mine: NDArray[np.int32]) -> list[Stat]:
        """The stats of some slices."""
        name = self._slices.name[mine]
        is_step = (self._step >= 0)[name]
        is_step &= self._slices.kind[mine] == KIND["annotation"]
        found: list[Stat] = []
        if is_step.any():
            rows = np.flatnonzero(is_step)
            found += [_at(rows, stat) for stat in _step_stats(self._step[name[rows]])]
        rows = np.flatnonzero(self._loads[mine])
        if len(rows):
            found += [_at(rows, stat) for stat in self._loader_stats(mine[rows])]
        calls = np.flatnonzero(self._calls[mine]).astype(np.int32)
        if len(calls):
            called = self._slices.correlation[mine[calls]]
            found.append(Stat(names.CORRELATION_ID, unsigned(called), calls))
        for key, column in self._texts:
            found += column.stat(key, mine)
        for key, numbers in self._numbers:
            found += numbers.stat(key, mine)
        for stat in self._annotated:
            rows = np.flatnonzero(stat.has[name])
            if len(rows):
                found.append(Stat(stat.name, stat.values[name[rows]], rows, stat.is_text))
        return found + self._arrows.stats(mine) + self._slices.other_numbers(mine)

    def _loader_stats(self, loads: NDArray[np.int32]) -> list[Stat]:
        """The stats of waits for PyTorch's loader."""
        count = len(loads)
        stage = np.where(self._alone[loads], self._stage_alone, self._stage)
        category = np.full(count, self._category)
        return [
            Stat(names.INPUT_STAGE_ID, np.ones(count, np.int64)),
            Stat(names.INPUT_STAGE_NAME, stage, is_text=True),
            Stat(names.INPUT_STAGE_CATEGORY, category, is_text=True),
        ]


def _at(rows: I64, stat: Stat) -> Stat:
    """A stat of some rows, given what these rows have."""
    return replace(stat, rows=rows)


def _step_number(name: str) -> int:
    found = _STEP.match(name)
    return int(found[1]) if found else NONE


@dataclass(frozen=True, eq=False, slots=True)
class _ArrowEnds:
    """Ends of arrows by slice.

    Attributes:
        produces, consumes: Ids of the arrows of those slices that have one.
    """

    produces: RowNumbers
    consumes: RowNumbers

    def stats(self, mine: NDArray[np.integer[Any]]) -> list[Stat]:
        """The stats of some slices."""
        found: list[Stat] = []
        for numbers, id_name, type_name in (
            (self.produces, names.PRODUCER_ID, names.PRODUCER_TYPE),
            (self.consumes, names.CONSUMER_ID, names.CONSUMER_TYPE),
        ):
            for ids in numbers.stat(id_name, mine):
                kind = np.full(len(ids.values), _CONTEXT_TYPE, np.int32)
                found += [
                    replace(ids, name=type_name, values=kind),
                    replace(ids, values=unsigned(ids.values)),
                ]
        return found


def _arrow_ends(trace: Trace, slices: Slices) -> _ArrowEnds:
    """Ends of the arrows from forward ops to their backward ops.

    Kineto gives an arrow's end the very begin of the op it belongs to.
    """
    flows = trace.flows
    ops = slices.rows("op")
    ids = flows["id"]
    if not len(ops) or not len(ids):
        return _ArrowEnds(row_numbers(ids[:0], ids[:0]), row_numbers(ids[:0], ids[:0]))
    origin = int(slices.start_ns[ops].min())
    spread = len(slices.places)

    def key(start_ns: I64, place: I64) -> I64:
        return (start_ns - origin) * spread + place

    # Of ops that begin together the last written is the innermost.
    at, same = match(
        key(slices.start_ns[ops], slices.place[ops]), key(flows["start_ns"], flows["place"])
    )
    is_end = flows["is_end"] > 0
    begins, finishes = (same & side & (ids >= 0) for side in (~is_end, is_end))
    return _ArrowEnds(
        row_numbers(ops[at[begins]], ids[begins]), row_numbers(ops[at[finishes]], ids[finishes])
    )
