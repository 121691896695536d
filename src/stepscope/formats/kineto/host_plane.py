"""The host's plane: ops, annotations, calls of the GPU's runtime, steps and allocations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.kineto import arrows, memory, steps
from stepscope.formats.kineto.annotations import Annotations, annotations_of
from stepscope.formats.kineto.args import NONE
from stepscope.formats.kineto.categories import KIND
from stepscope.formats.kineto.event_rows import narrow
from stepscope.formats.kineto.names import op_name
from stepscope.formats.kineto.read import Trace
from stepscope.formats.kineto.slices import Slices, unsigned
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.line_parts import LineParts, by_place, stat_of
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.schema import names

_STEP: Final = re.compile(re.escape(names.PYTORCH_STEP) + r"(\d{1,18})")
_LOADER: Final = "enumerate(DataLoader)"
# The iterator of a loader without worker processes.
_ALONE: Final = f"{_LOADER}#_SingleProcessDataLoaderIter"
_SHAPES: Final = "Input Dims"
#: What ``cid`` and ``cbid`` mean, the name of the call says; ``finished`` is true of all.
_SAID_ELSEWHERE: Final = frozenset({_SHAPES, "cbid", "cid", "finished"})


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
    metadata = np.zeros(len(slices), np.int32)
    is_op = slices.is_kind("op")
    slices.renamed(plane, np.flatnonzero(is_op & shown), op_name, metadata)
    slices.renamed(plane, np.flatnonzero(~is_op & shown), said.label, metadata)
    lines = {place: LineParts() for place in np.unique(slices.place[shown]).tolist()}
    memory.add_instants(trace, slices, plane, lambda place: lines.setdefault(place, LineParts()))
    are_marked = said.has(names.STEP_NUM) or len(marks) > 0
    found = None
    if count is not None and not are_marked:
        found = steps.training_steps(slices, count) or steps.engine_steps(slices, count)
    if found is not None and found.place in lines:
        code = np.full(len(found.number), plane.name(found.name))
        by = np.full(len(found.number), plane.text(found.marked_by))
        numbers = [*_step_stats(found.number), Stat(names.MARKED_BY, by, is_text=True)]
        lines[found.place].add(code, found.start_ns, found.duration_ns, numbers)
    _add_marks(slices, plane, marks, lines)
    stats = _HostStats(trace, slices, plane, said)
    # Each line is written before the next is put together: what it is made of is as large again.
    for place, mine in by_place(slices.place, np.flatnonzero(shown).astype(np.int32)):
        lines[place].add(
            metadata[mine], slices.start_ns[mine], slices.duration_ns[mine], stats.of(mine)
        )
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
    lines: Mapping[int, LineParts],
) -> None:
    """Put steps on the lines of the threads that reported them."""
    place_of = {slices.thread(place)[0]: place for place in lines}
    for thread in dict.fromkeys(mark.thread for mark in marks):
        mine = [mark for mark in marks if mark.thread == thread]
        if thread in place_of:
            lines[place_of[thread]].add(
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
        self._arrows = arrows.ends(trace, slices)
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
        shapes = slices.text_ids(
            plane, args.texts(_SHAPES), slices.rows("op", "annotation"), self._shape
        )
        said = slices.text_ids(
            plane, args.chain, rows, lambda chain: args.json(chain, _SAID_ELSEWHERE)
        )
        self._texts = ((names.SHAPE, shapes), (names.ARGUMENTS, said))
        sequence = args.numbers("Sequence number")
        sequence[~slices.is_kind("op")] = NONE
        self._sequence = narrow(sequence)

    def _shape(self, number: int) -> str:
        dims = self._trace.texts.value(number)
        return str(dims) if dims else ""

    def of(self, mine: NDArray[np.int32]) -> list[Stat]:
        """The stats of some slices."""
        is_annotation = self._slices.kind[mine] == KIND["annotation"]
        step = np.where(is_annotation, self._step[self._slices.name[mine]], NONE)
        loads = self._loads[mine]
        count = len(mine)
        found = stat_of(names.STEP_NUM, step, step >= 0)
        found += stat_of(names.ROOT_LEVEL, np.ones(count, np.int64), step >= 0)
        found += stat_of(names.INPUT_STAGE_ID, np.ones(count, np.int64), loads)
        stage = np.where(self._alone[mine], self._stage_alone, self._stage)
        found += stat_of(names.INPUT_STAGE_NAME, stage, loads, is_text=True)
        category = np.full(count, self._category)
        found += stat_of(names.INPUT_STAGE_CATEGORY, category, loads, is_text=True)
        called = self._slices.correlation[mine]
        found += stat_of(names.CORRELATION_ID, unsigned(called), self._calls[mine])
        for key, column in self._texts:
            found += stat_of(key, column[mine], column[mine] > 0, is_text=True)
        sequence = self._sequence[mine]
        found += stat_of(names.SEQUENCE_NUMBER, sequence, sequence >= 0)
        name = self._slices.name[mine]
        for stat in self._annotated:
            found += stat_of(stat.name, stat.values[name], stat.has[name], is_text=stat.is_text)
        return found + self._arrows.stats(mine) + self._slices.other_numbers(mine)


def _step_number(name: str) -> int:
    found = _STEP.match(name)
    return int(found[1]) if found else NONE
