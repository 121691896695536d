"""What ran on the devices: kernels, copies and XLA ops, as one list per host.

On GPUs the events are those of the raw streams; on TPUs those of the ``XLA Ops`` lines. Each is
given its kind of work, the framework op it came from and the device it ran on; tracks that a
viewer derived from them (Steps, Framework Ops …) are left out, they would count twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from stepscope.columns import nest, rows_by_key
from stepscope.columns.space import I32, I64, U8, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.op_name import OpCategory, OpName, parse_annotation, parse_op_name
from stepscope.tables.core.planes import DEVICE_KINDS, OP_LINE_PLANES, LineKind, PlaneKind, planes
from stepscope.tables.core.presence import any_event, any_stretch
from stepscope.tables.core.processes import correlation_ids, launch_ids
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats, metadata_ints, metadata_texts
from stepscope.tables.device import kernel_names
from stepscope.tables.hlo.modules import HloModules, hlo_modules
from stepscope.tables.hlo.recorded_ops import recorded_ops
from stepscope.tables.host.events import Work, timed_events
from stepscope.tables.host.ops import hlo_framework_op

_COPY = (
    (re.compile(r"mem_?cpy_?(h2d|htod)|CopyHostToDevice", re.I), Work.HOST_TO_DEVICE),
    (re.compile(r"mem_?cpy_?(d2h|dtoh)|CopyDeviceToHost", re.I), Work.DEVICE_TO_HOST),
    (
        # "_combined_routing_memset" is a kernel of a program.
        re.compile(r"mem_?cpy|CopyDeviceToDevice|rocclr_copyBuffer|(?<!_)mem_?set", re.I),
        Work.DEVICE_TO_DEVICE,
    ),
)
_HLO_WORK = (
    (re.compile(r"infeed|host recv|recv-done.{0,40}host"), Work.INPUT_WAIT),
    (re.compile(r"outfeed|host send"), Work.DEVICE_TO_HOST),
    (re.compile(r"copy|send|recv|async-start|async-done"), Work.DEVICE_TO_DEVICE),
)
# ``(destination, source, context)``, which copy-start returns and copy-done takes. Memory space 5
# is the host's.
_COPY_PAIR = re.compile(
    r"\((\w{1,9}\[[^{\]]{0,200}\]\S{0,99}), (\w{1,9}\[[^{\]]{0,200}\]\S{0,99}), u32\["
)
_HOST_SPACE = "S(5)"
# Words that stand where no op is known.
_ORIGINS = (names.OUTSIDE_OPS, names.BEFORE_RECORDING, names.FROM_GRAPH, names.NO_LAUNCH)
# Instructions that move what they work on, and may do so with the driver's own copies.
_RUN_AS_COPIES = frozenset({"async-start", "fusion", "dynamic-slice", "dynamic-update-slice"})
# Categories of ops that only enclose others: their bodies are counted, they are not.
CONTAINERS = frozenset({"while", "call", "conditional", "megacore fusion"})
_NO_ROWS = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False, slots=True)
class DeviceEvents:
    """One row per event that ran on a device, in event-row order.

    Attributes:
        rows: Event rows.
        device: Row in ``Space.planes``.
        start_ps, duration_ps: On the device's clock where the recorder gives it.
        self_ps: Duration minus nested ops (equal to the duration on GPU streams).
        work: ``Work`` of each.
        op: Index into ``ops``: the framework op it came from.
        ops: Distinct framework ops.
        program: Program each belongs to (0: none).
        unit: Index of the device-level op (program and HLO op, or op and kernel) within ``op``.
        is_kernel: Whether it is compute or a collective, not a copy.
        tensor_core: Whether it used tensor or matrix cores.
        is_container: Whether it only encloses others (while, call): not counted as busy compute.
        bits_known: Whether anything says in how many bits it computes; where not, ``work`` has it
            among the 32-bit ones.
        correlation: ``correlation_id`` of the launch, -1 without.
    """

    rows: I64
    device: I32
    start_ps: I64
    duration_ps: I64
    self_ps: I64
    work: U8
    op: I32
    ops: list[OpName]
    program: I64
    unit: I32
    is_kernel: Bool
    tensor_core: Bool
    is_container: Bool
    bits_known: Bool
    correlation: I64

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def end_ps(self) -> I64:
        """Ends of the events."""
        end: I64 = self.start_ps + self.duration_ps
        return end


class _Source(NamedTuple):
    """Everything that decides what a device event is; events that share it are alike."""

    name: str
    plane: PlaneKind
    tf_op: str = ""
    annotation: str = ""
    hlo_op: str = ""
    program_id: int = 0
    xla_op_name: str = ""
    shape: str = ""
    hlo_category: str = ""
    launch: str = ""


@derived
def device_events(host: Host) -> DeviceEvents:
    """The device work of a host."""
    rows = device_rows(host)
    if len(rows) == 0:
        return _nothing()  # the stats of all events need not be read for it
    space = host.space
    line_plane = np.asarray([line.plane for line in space.lines] or [0], dtype=np.int32)
    device = line_plane[space.lines_of(rows)]
    start, duration = _device_times(host, rows)
    correlation = correlation_ids(host).at(rows, -1)
    sources, source_of = _sources(host, rows, correlation)
    facts = [_describe(source, hlo_modules(host)) for source in sources]
    ops = list({fact.op.name: fact.op for fact in facts}.values())
    op_index = {op.name: index for index, op in enumerate(ops)}
    units = {unit: index for index, unit in enumerate(dict.fromkeys(fact.unit for fact in facts))}

    def spread(values: list[int], dtype: type[np.generic]) -> Any:
        """One value per source, spread over the events of that source."""
        return np.asarray(values or [0], dtype=dtype)[source_of]

    work: U8 = spread([int(fact.work) for fact in facts], np.uint8)
    return DeviceEvents(
        rows=rows,
        device=device,
        start_ps=start,
        duration_ps=duration,
        self_ps=_self_times(host, rows, duration),
        work=work,
        op=spread([op_index[fact.op.name] for fact in facts], np.int32),
        ops=ops,
        program=spread([source.program_id for source in sources], np.int64),
        unit=spread([units[fact.unit] for fact in facts], np.int32),
        is_kernel=(work >= Work.COMPUTE_32) | (work == Work.COLLECTIVE),
        tensor_core=spread([fact.tensor_core for fact in facts], np.bool_),
        is_container=spread([fact.is_container for fact in facts], np.bool_),
        bits_known=spread([fact.bits_known for fact in facts], np.bool_),
        correlation=correlation,
    )


@derived
def rows_by_device(host: Host) -> dict[int, I64]:
    """Rows of ``device_events`` by the plane of their device."""
    return rows_by_key(device_events(host).device)


def rows_of_device(host: Host, device: int) -> I64:
    """Rows of ``device_events`` of one device, ascending; none if it ran nothing."""
    return rows_by_device(host).get(device, _NO_ROWS)


def _nothing() -> DeviceEvents:
    times, codes = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    flags = np.zeros(0, dtype=np.bool_)
    return DeviceEvents(
        rows=times,
        device=codes,
        start_ps=times,
        duration_ps=times,
        self_ps=times,
        work=np.zeros(0, dtype=np.uint8),
        op=codes,
        ops=[],
        program=times,
        unit=codes,
        is_kernel=flags,
        tensor_core=flags,
        is_container=flags,
        bits_known=flags,
        correlation=times,
    )


def device_lines(host: Host) -> list[int]:
    """Rows in ``Space.lines`` of what ran on devices, less what a viewer derived from it."""
    table = planes(host)
    return [
        row
        for row, kind in enumerate(table.line_kind)
        if table.plane_kind[host.space.lines[row].plane] in DEVICE_KINDS
        and kind in (LineKind.STREAM, LineKind.OPS)
    ]


def has_device_events(host: Host) -> bool:
    """Whether ``device_events`` has any."""
    return any_stretch(host, device_lines(host), lambda stretch: bool(stretch.timed.any()))


def has_collectives(host: Host) -> bool:
    """Whether a kernel or op of a collective ran on a device."""
    wanted = device_entries(host, lambda work: work is Work.COLLECTIVE)
    return bool(wanted.any()) and any_event(host, device_lines(host), entries=wanted)


def device_rows(host: Host) -> I64:
    """The event rows of ``device_events``, ascending."""
    lines = [host.space.lines[row] for row in device_lines(host)]
    parts = [np.arange(line.begin, line.end, dtype=np.int64) for line in lines]
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    timed: I64 = rows[timed_events(host)[rows]]
    return timed


def device_entries(host: Host, wanted: Callable[[Work], bool]) -> Bool:
    """Rows of ``Space.event_metadata`` that stand, on a device, for work that is wanted.

    Name and category tell computing (``COMPUTE_32``, whatever its bits), collectives and copies
    apart; the direction of a copy by its launch takes more than the entry.
    """
    metadata, kinds = host.space.event_metadata, planes(host).plane_kind
    categories = metadata_texts(host, names.HLO_CATEGORY)
    found = np.zeros(max(len(metadata), 1), dtype=bool)
    for row, plane in enumerate(metadata.plane.tolist()):
        if kinds[plane] in DEVICE_KINDS:
            category = categories.get(row, "")
            source = _Source(metadata.name[row], kinds[plane], hlo_category=category)
            work = _copy_or_collective(source, HloModules({}))
            found[row] = wanted(Work.COMPUTE_32 if work is None else work)
    return found


def container_entries(host: Host) -> Bool:
    """Rows of ``Space.event_metadata`` whose events only enclose others (while, call)."""
    found = np.zeros(max(len(host.space.event_metadata), 1), dtype=bool)
    for row, category in metadata_texts(host, names.HLO_CATEGORY).items():
        found[row] = category in CONTAINERS
    return found


def _device_times(host: Host, rows: I64) -> tuple[I64, I64]:
    """Starts and durations; TPUs also give the device's own duration, which is exact."""
    events, stats = host.space.events, event_stats(host)
    duration = host.space.length_ps[rows]
    own = stats.ints(names.DEVICE_DURATION_PS).at(rows, -1)
    return events.start_ps[rows], np.where(own >= 0, own, duration)


def _self_times(host: Host, rows: I64, duration: I64) -> I64:
    """Self times where ops nest (TPU op lines); on streams kernels do not nest.

    Nesting goes by the device's own clock where every op has it: the host clock's rounding would
    put the end of one op after the start of the next.
    """
    space, table = host.space, planes(host)
    op_lines = [row for row, kind in enumerate(table.line_kind) if kind is LineKind.OPS]
    if not op_lines or len(rows) == 0:
        return duration
    offset = event_stats(host).ints(names.DEVICE_OFFSET_PS).at(rows, -1)
    is_op = np.isin(space.lines_of(rows), np.asarray(op_lines, dtype=np.int32))
    start = offset if (offset[is_op] >= 0).all() else space.events.start_ps[rows]
    begin = np.searchsorted(rows, space.line_begin).astype(np.int64)
    nesting = nest(np.ascontiguousarray(start), duration, begin, select=is_op)
    return np.where(is_op, nesting.self_ps, duration)


def _sources(host: Host, rows: I64, correlation: I64) -> tuple[list[_Source], I64]:
    """The distinct sources of the rows, and which one each row has."""
    space, stats, kinds = host.space, event_stats(host), planes(host).plane_kind
    # Shapes of what ran on devices only: ops of hosts have more of them.
    shapes = stats.texts_between(names.SHAPE, int(rows[0]), int(rows[-1]))
    texts = [
        stats.texts(names.TF_OP),
        stats.texts(names.ANNOTATION),
        recorded_ops(host),
        stats.texts(names.XLA_OP_NAME),
        shapes,
    ]
    launch_names, launch_of = _launches(host, correlation)
    keys = (
        space.events.metadata[rows].astype(np.int64),
        *(text.at(rows) for text in texts),
        stats.ints(names.PROGRAM_ID).at(rows, 0),
        launch_of,
    )
    first, source_of = distinct_rows(keys)
    tf_ops, categories = (metadata_texts(host, name) for name in (names.TF_OP, names.HLO_CATEGORY))
    programs = metadata_ints(host, names.PROGRAM_ID)
    sources = []
    for meta, *codes, program, launch in np.stack(keys)[:, first].T.tolist():
        words = [t.texts[c] if c >= 0 else "" for t, c in zip(texts, codes, strict=True)]
        name, label = space.event_metadata.name[meta], space.event_metadata.display_name[meta]
        plane = kinds[space.event_metadata.plane[meta]]
        sources.append(
            _Source(
                name=name,
                plane=plane,
                tf_op=words[0] or tf_ops.get(meta, ""),
                annotation=words[1],
                hlo_op=words[2] or (label if plane in OP_LINE_PLANES else ""),
                program_id=program or programs.get(meta, 0),
                xla_op_name=words[3],
                shape=words[4],
                hlo_category=categories.get(meta, ""),
                launch=launch_names[launch] if launch >= 0 else "",
            )
        )
    return sources, source_of.ravel().astype(np.int64)


def _launches(host: Host, correlation: I64) -> tuple[list[str], I64]:
    """The name of the host call that launched each device event (index, -1 unknown)."""
    space, calls = host.space, launch_ids(host)
    found = np.full(len(correlation), -1, dtype=np.int64)
    if len(calls.rows) == 0:
        return space.event_metadata.name, found
    order = np.argsort(calls.values, kind="stable")
    ids = calls.values[order]
    place = np.searchsorted(ids, correlation)
    place[place == len(ids)] = 0
    has = ids[place] == correlation
    found[has] = space.events.metadata[calls.rows[order[place[has]]]]
    return space.event_metadata.name, found


class _Facts(NamedTuple):
    """What a source turned out to be."""

    op: OpName
    work: Work
    unit: tuple[object, ...]
    tensor_core: bool
    is_container: bool
    bits_known: bool


def _describe(source: _Source, modules: HloModules) -> _Facts:
    op = _framework_op(source, modules)
    unit: tuple[object, ...] = (
        (source.program_id, _instruction_name(source)) if source.hlo_op else (op.name, source.name)
    )
    is_container = source.hlo_category in CONTAINERS
    return _Facts(
        op=op,
        work=_work(source, modules),
        unit=unit,
        tensor_core=kernel_names.uses_tensor_core(source.name),
        is_container=is_container,
        bits_known=_is_16_bit(source, modules) is not None,
    )


def _framework_op(source: _Source, modules: HloModules) -> OpName:
    """The framework op a device event came from (reference §5.2, §6)."""
    if source.hlo_op:
        if source.plane in OP_LINE_PLANES:
            if source.tf_op:
                return parse_op_name(source.tf_op)
            return OpName(OpCategory.UNKNOWN, source.hlo_op, "Unknown")
        found = hlo_framework_op(modules.get(source.program_id), source.hlo_op)
        if found.type == "Unknown" and source.xla_op_name:
            return parse_op_name(source.xla_op_name + ":")
        return found
    if source.tf_op or source.annotation:
        named = parse_op_name(source.tf_op) if source.tf_op else parse_annotation(source.annotation)
        if named.name:
            if named.type:
                return named
            # A name without a type ("MakeTensorFromProto" on a copy): the event says what it does.
            is_said = named.name in _ORIGINS
            return named._replace(type="Unknown" if is_said else source.name)
    return OpName(OpCategory.UNKNOWN, source.name, "Unknown")


def _work(source: _Source, modules: HloModules) -> Work:
    work = _copy_or_collective(source, modules)
    if work is not None:
        return work
    return Work.COMPUTE_16 if _is_16_bit(source, modules) else Work.COMPUTE_32


def _copy_or_collective(source: _Source, modules: HloModules) -> Work | None:
    """Return the kind of work of an event that copies or communicates; None if it computes."""
    if source.plane is PlaneKind.GPU:
        return _gpu_copy_or_collective(source, modules)
    if kernel_names.is_collective(source.hlo_category):
        return Work.COLLECTIVE
    for pattern, work in _HLO_WORK:
        if pattern.search(source.hlo_category):
            return _direction(source.name) if work is Work.DEVICE_TO_DEVICE else work
    return None


def _direction(hlo_text: str) -> Work:
    """Where an asynchronous copy of an XLA program goes, by the memory spaces of its ends."""
    pair = _COPY_PAIR.search(hlo_text[:1000])
    if pair is None:
        return Work.DEVICE_TO_DEVICE
    to_host, from_host = (_HOST_SPACE in end for end in pair.groups())
    if to_host == from_host:
        return Work.DEVICE_TO_DEVICE
    return Work.DEVICE_TO_HOST if to_host else Work.HOST_TO_DEVICE


def _gpu_copy_or_collective(source: _Source, modules: HloModules) -> Work | None:
    copy = _copy_work(source.name)
    if copy is not None:
        if copy is not Work.DEVICE_TO_DEVICE:
            return copy
        if not _is_part_of_an_op(source, modules):
            # ROCm copies with a kernel: only the launching call knows the direction.
            return _copy_work(source.launch) or copy
    return Work.COLLECTIVE if kernel_names.is_collective(source.name) else None


@lru_cache(maxsize=10_000)
def _copy_work(name: str) -> Work | None:
    """Return the direction of a copy by the name of its event or call; None for other work."""
    return next((work for pattern, work in _COPY if pattern.search(name)), None)


def _is_part_of_an_op(source: _Source, modules: HloModules) -> bool:
    """Whether a copy is how XLA runs an op that computes: a slice of a scan's arrays."""
    module = modules.get(source.program_id) if source.hlo_op else None
    found = None if module is None else module.instructions.get(_instruction_name(source))
    return found is not None and found.opcode in _RUN_AS_COPIES and bool(found.op_name)


def _is_16_bit(source: _Source, modules: HloModules) -> bool | None:
    """Whether it computes in 16 bits or fewer; None where nothing recorded says it."""
    module = modules.get(source.program_id) if source.hlo_op else None
    found = None if module is None else module.instructions.get(_instruction_name(source))
    if found is None and source.plane not in OP_LINE_PLANES:
        return kernel_names.computes_in_16_bits(source.name, source.shape)
    # Imported with what reads programs, for events of programs alone.
    from stepscope.tables.hlo.precision import computes_in_16_bits, text_computes_in_16_bits

    if module is not None and found is not None:
        return computes_in_16_bits(module, found)
    return text_computes_in_16_bits(source.name, source.hlo_category)


def _instruction_name(source: _Source) -> str:
    return source.hlo_op.rpartition("::")[2]


def on_own_clock(host: Host, rows: I64, start_ps: I64) -> I64:
    """Starts of events on their device's own clock, to which durations are exact.

    Where the recorder gives no other, that is the clock of the steps; there, ops that follow each
    other may seem to overlap by what the clocks differ.
    """
    offset = event_stats(host).ints(names.DEVICE_OFFSET_PS).at(rows, -1)
    return offset if (offset >= 0).all() else start_ps
