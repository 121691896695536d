"""Device-level ops: every HLO op that ran, what it is and what one run of it costs.

On TPUs the recorder writes category, FLOPs and bytes beside each op; on GPUs and CPUs they are
worked out from the HLO module the event names. Kernels that no HLO op launched (TensorFlow
without XLA) are ops too, named by their kernel and filed under their framework op, without costs.
What a PyTorch op launched in one call is one run of that op with those shapes, whose cost follows
from them (``torch.costs``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I32, I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.op_name import OpName
from stepscope.tables.core.planes import OP_LINE_PLANES, PlaneKind, planes
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats, metadata_ints, metadata_texts
from stepscope.tables.device.events import CONTAINERS, device_events, on_own_clock
from stepscope.tables.hlo.category import category
from stepscope.tables.hlo.cost import CostAnalysis
from stepscope.tables.hlo.module import HloModule, Instruction
from stepscope.tables.hlo.modules import HloModules, hlo_modules
from stepscope.tables.hlo.recorded_costs import (
    ASYNC_START,
    CUSTOM_CALL,
    larger,
    recorded_breakdowns,
    recorded_flops,
)
from stepscope.tables.hlo.recorded_ops import recorded_ops
from stepscope.tables.hlo.source import source_line, source_stack
from stepscope.tables.hlo.text import expression
from stepscope.tables.host.ops import host_ops
from stepscope.tables.ops.hlo_runs import mark_runs
from stepscope.tables.ops.run_cost import RunCost, mean_cost, shaped_cost, with_tf32
from stepscope.tables.torch.op_calls import op_calls
from stepscope.tables.torch.signature import Signature

F64 = NDArray[np.float64]
# Program ids are unsigned 64-bit numbers in the file.
_UINT64 = (1 << 64) - 1
_CORE_TYPES = {PlaneKind.TPU: "TensorCore", PlaneKind.SPARSE_CORE: "SparseCore"}
_REMATERIALISED = (".remat", "rematted_computation")
_OUTSIDE = (":XlaSendToHost", ":XlaRecvFromHost")
# Category of a kernel that names neither an HLO op nor a framework op.
UNATTRIBUTED = "unattributed"


@dataclass(frozen=True, slots=True)
class HloOp:
    """One device-level op.

    Attributes:
        program_id, program: The program it belongs to: its id and "jit_step(12)"; 0 and "" for
            kernels outside of XLA.
        name: The HLO op, or the kernel.
        category: "loop fusion", "custom-call" …; for kernels outside of XLA the op type.
        expression: Its HLO text, "" when the file has no module and no text.
        framework_op: The framework op it came from, "" when unknown.
        deduplicated_name: The op it is a copy of, "" for none.
        source, source_stack: ``file:line`` of the program, and the whole stack.
        core_type: "TensorCore" or "SparseCore" on TPUs, else "".
        is_hlo: Whether XLA compiled it.
        autotuned: Whether its backend configuration names an autotuning result.
    """

    program_id: int
    program: str
    name: str
    category: str
    expression: str
    framework_op: str
    deduplicated_name: str
    source: str
    source_stack: str
    core_type: str
    is_hlo: bool
    autotuned: bool

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What makes it one op across devices and hosts."""
        return self.program, self.name, "" if self.is_hlo else self.framework_op, self.core_type

    @property
    def is_container(self) -> bool:
        """Whether it only encloses other ops (a loop, a call)."""
        return self.is_hlo and self.category in CONTAINERS

    @property
    def rematerialised(self) -> bool:
        """Whether it recomputes a value that was dropped to save memory."""
        left = self.expression.partition(" = ")[0] or self.name
        return _REMATERIALISED[0] in left or _REMATERIALISED[1] in self.framework_op

    @property
    def outside_compilation(self) -> bool:
        """Whether it exchanges data with code that runs on the host."""
        sends = "send-done" in self.expression and "is_host_transfer=true" in self.expression
        return sends or f"{self.framework_op}:".endswith(tuple(f"{one}:" for one in _OUTSIDE))


@dataclass(frozen=True, eq=False, slots=True)
class HloOpEvents:
    """One row per run, or part of a run, of a device-level op.

    Attributes:
        ops: The distinct ops.
        costs: What one run of each costs.
        op: Index into ``ops``.
        device: Row in ``Space.planes``: a device, or the host's plane for work on the CPU.
        start_ps: Start on the clock of the steps.
        own_start_ps: Start on the device's own clock, exact relative to ``duration_ps`` (the
            clock of the steps where the recorder gives no other).
        duration_ps, self_ps: On the device's own clock.
        is_run: Whether the event counts as a run: of an op of several kernels, one of each run is
            marked (see ``hlo_runs``).
        dma_stall_ps: Time stalled by copies, 0 where not recorded.
        on_device: Whether these are devices' events; False: XLA or TensorFlow on the CPU.
    """

    ops: list[HloOp]
    costs: list[RunCost]
    op: I32
    device: I32
    start_ps: I64
    own_start_ps: I64
    duration_ps: I64
    self_ps: I64
    is_run: Bool
    dma_stall_ps: I64
    on_device: bool

    def __len__(self) -> int:
        return len(self.op)


@dataclass(frozen=True, eq=False, slots=True)
class _Events:
    """The events to describe, before they have ops."""

    rows: I64
    device: I32
    start_ps: I64
    duration_ps: I64
    self_ps: I64
    framework_op: I32
    framework_ops: list[OpName]
    call: I64
    on_device: bool


@derived
def hlo_op_events(host: Host) -> HloOpEvents:
    """The device-level ops of a host: of its devices, or of its CPU when no device ran."""
    events = _device_side(host)
    if len(events.rows) == 0:
        events = _host_side(host)
    sources, source_of = _sources(host, events)
    described = _Describer(host, events.framework_ops)
    index: dict[tuple[str, str, str, str], int] = {}
    ops: list[HloOp] = []
    costs: list[RunCost] = []
    of_source = np.zeros(max(len(sources), 1), dtype=np.int32)
    for place, source in enumerate(sources):
        op, cost = described.op(*source)
        at = index.setdefault(op.key, len(ops))
        if at == len(ops):
            ops.append(op)
            costs.append(cost)
        elif math.isnan(costs[at].flops) and not math.isnan(cost.flops):
            costs[at] = cost  # several entries of the file are this op, and this one says it
        of_source[place] = at
    _mix_shaped(events, sources, source_of, of_source, costs)
    op_of = of_source[source_of]
    is_run = _runs(host, events, op_of, ops)
    return HloOpEvents(
        ops=ops,
        costs=_merge_event_costs(
            host, events, op_of, is_run, ops, with_tf32(host, events.rows, op_of, costs)
        ),
        op=op_of,
        device=events.device,
        start_ps=events.start_ps,
        own_start_ps=on_own_clock(host, events.rows, events.start_ps),
        duration_ps=events.duration_ps,
        self_ps=events.self_ps,
        is_run=is_run,
        dma_stall_ps=event_stats(host).ints(names.DMA_STALL_PS).at(events.rows, 0),
        on_device=events.on_device,
    )


def _device_side(host: Host) -> _Events:
    found = device_events(host)
    return _Events(
        found.rows,
        found.device,
        found.start_ps,
        found.duration_ps,
        found.self_ps,
        found.op,
        found.ops,
        op_calls(host).of_event,
        on_device=True,
    )


def _host_side(host: Host) -> _Events:
    """The op activities of the host's threads, XLA's and TensorFlow's alike."""
    found, space = host_ops(host), host.space
    ran = found.is_execution
    rows = found.rows[ran]
    line_plane = np.asarray([line.plane for line in space.lines] or [0], dtype=np.int32)
    return _Events(
        rows,
        line_plane[space.event_line[rows]] if len(rows) else np.zeros(0, dtype=np.int32),
        space.events.start_ps[rows],
        space.length_ps[rows],
        found.self_ps[ran],
        found.op[ran],
        found.ops,
        np.full(len(rows), -1, dtype=np.int64),
        on_device=False,
    )


def _sources(
    host: Host, events: _Events
) -> tuple[list[tuple[int, int, int, str, Signature | None]], I64]:
    """Distinct (metadata row, framework op, program id, HLO op, signature) and each event's.

    Host ops are distinguished by name alone: their metadata row says no more (-1). Neither does
    that of a kernel whose op was called in a known way.
    """
    stats, rows = event_stats(host), events.rows
    calls = op_calls(host) if events.on_device else None
    hlo = recorded_ops(host)
    code = hlo.at(rows)
    program = stats.ints(names.PROGRAM_ID).at(rows, 0)
    entries = host.space.events.metadata[rows]
    if not events.on_device:
        entries = np.full(len(rows), -1, dtype=np.int32)
    signature = np.full(len(rows), -1, dtype=np.int64)
    if calls is not None:
        called = (events.call >= 0) & (code < 0)
        signature[called] = calls.signature[events.call[called]]
        entries = np.where(called, -1, entries)
    first, source_of = distinct_rows((entries, events.framework_op, code, program, signature))
    sources = [
        (
            int(entries[at]),
            int(events.framework_op[at]),
            int(program[at]) & _UINT64,
            hlo.texts[code[at]] if code[at] >= 0 else "",
            calls.signatures[signature[at]] if calls is not None and signature[at] >= 0 else None,
        )
        for at in first.tolist()
    ]
    return sources, source_of


def _mix_shaped(
    events: _Events,
    sources: list[tuple[int, int, int, str, Signature | None]],
    source_of: I64,
    of_source: I32,
    costs: list[RunCost],
) -> None:
    """Give an op that was called with several types of one shape the mean cost of its calls."""
    called = np.flatnonzero(events.call >= 0)
    first = called[np.unique(events.call[called], return_index=True)[1]]
    calls = np.bincount(source_of[first], minlength=len(sources))
    by_op: dict[int, list[tuple[int, RunCost]]] = {}
    for place, (*_, call) in enumerate(sources):
        if call is not None:
            of_op = by_op.setdefault(int(of_source[place]), [])
            of_op.append((int(calls[place]), shaped_cost(call)))
    for at, some in by_op.items():
        if len(some) > 1:
            costs[at] = mean_cost(some)


def _runs(host: Host, events: _Events, op: I32, ops: list[HloOp]) -> Bool:
    """Marks one event of each run of an op; on a host every event is a run of its own."""
    if len(op) == 0 or not events.on_device:
        return np.ones(len(op), dtype=bool)
    space, modules = host.space, hlo_modules(host)
    is_straight = [_is_straight(modules.get(one.program_id), one) for one in ops]
    programs: dict[int, int] = {}
    program = [programs.setdefault(one.program_id, len(programs)) for one in ops]
    is_run = mark_runs(
        op,
        events.device,
        space.lines_of(events.rows),
        space.events.metadata[events.rows],
        events.start_ps,
        np.asarray(is_straight, dtype=bool),
        np.asarray(program, dtype=np.int64),
    )
    called = np.flatnonzero(events.call >= 0)
    is_run[called] = False
    is_run[called[np.unique(events.call[called], return_index=True)[1]]] = True
    return is_run


def _is_straight(module: HloModule | None, op: HloOp) -> bool:
    """Whether each run of its program runs the op once."""
    found = module.instructions.get(op.name) if module is not None else None
    return module is not None and found is not None and found.computation_id in module.straight_ids


def _merge_event_costs(
    host: Host, events: _Events, op: I32, is_run: Bool, ops: list[HloOp], costs: list[RunCost]
) -> list[RunCost]:
    """Costs, with those that events themselves carry put first (custom calls on TPUs).

    What a custom call notes may be a part of what its shapes say; never the whole of less.
    """
    stats = event_stats(host)
    if not any(len(stats.ints(one).rows) for one in (names.FLOPS, names.BYTES_ACCESSED)):
        return costs
    size = len(costs)
    runs = np.bincount(op[is_run], minlength=size)

    def per_run(name: str) -> F64:
        value = stats.ints(name).at(events.rows, -1)
        known = value >= 0
        total = np.bincount(op[known], weights=value[known].astype(np.float64), minlength=size)
        has = np.bincount(op[known], minlength=size) > 0
        return np.where(has & (runs > 0), total / np.maximum(runs, 1), np.nan)

    flops, model, accessed = map(per_run, (names.FLOPS, names.MODEL_FLOPS, names.BYTES_ACCESSED))
    return [
        RunCost(
            _noted(ops[at], model[at], flops[at], cost.model_flops),
            _noted(ops[at], flops[at], cost.flops),
            _first(accessed[at], cost.bytes),
            _first(cost.hbm_bytes, accessed[at]),
            cost.on_chip_read_bytes,
            cost.on_chip_write_bytes,
        )
        for at, cost in enumerate(costs)
    ]


def _noted(op: HloOp, *values: float) -> float:
    return larger(*values) if op.category == CUSTOM_CALL else _first(*values)


def _first(*values: float) -> float:
    return next((float(one) for one in values if not math.isnan(one)), math.nan)


class _Describer:
    """Says what a source is, from metadata stats (TPU) or the HLO module (GPU, CPU)."""

    def __init__(self, host: Host, framework_ops: list[OpName]) -> None:
        self._space = host.space
        self._kinds = planes(host).plane_kind
        self._framework_ops = framework_ops
        self._modules: HloModules = hlo_modules(host)
        self._programs = metadata_ints(host, names.PROGRAM_ID)
        texts = (names.HLO_CATEGORY, names.DEDUPLICATED_NAME, names.SOURCE, names.SOURCE_STACK)
        self._texts = {name: metadata_texts(host, name) for name in texts}
        self._tf_ops = metadata_texts(host, names.TF_OP)
        self._recorded_flops = recorded_flops(host)
        numbers = (names.MODEL_FLOPS, names.BYTES_ACCESSED)
        self._ints = {name: metadata_ints(host, name) for name in numbers}
        self._breakdowns = recorded_breakdowns(host)
        self._costs: Callable[[int], CostAnalysis] = cache(self._cost_analysis)

    def _cost_analysis(self, program_id: int) -> CostAnalysis:
        module = self._modules.get(program_id)
        assert module is not None  # only asked for instructions of a module that was found
        return CostAnalysis(module)

    def op(
        self, entry: int, framework_op: int, program: int, hlo_op: str, call: Signature | None
    ) -> tuple[HloOp, RunCost]:
        """The op and its cost."""
        kind = self._kinds[self._space.event_metadata.plane[entry]] if entry >= 0 else None
        if kind in OP_LINE_PLANES:
            return self._recorded(entry, program, _CORE_TYPES[kind])
        if hlo_op:
            return self._compiled(program, hlo_op.rpartition("::")[2], framework_op)
        op = self._framework_ops[framework_op]
        kernel = self._space.event_metadata.name[entry] if entry >= 0 else op.name
        if call is not None:
            return self._uncompiled(f"{call.op} {call.label}".rstrip(), op), shaped_cost(call)
        return self._uncompiled(kernel, op), RunCost()

    @staticmethod
    def _uncompiled(name: str, op: OpName) -> HloOp:
        """A kernel, or a call of an op, outside of XLA."""
        category = op.type if op.type not in ("", "Unknown") else UNATTRIBUTED
        return HloOp(0, "", name, category, "", op.name, "", "", "", "", False, False)

    def _recorded(self, entry: int, program: int, core_type: str) -> tuple[HloOp, RunCost]:
        """An op of a TPU op line: its metadata says everything."""
        metadata = self._space.event_metadata
        text = metadata.name[entry]
        name = metadata.display_name[entry] or text.partition(" = ")[0].lstrip("%")
        program = (program or self._programs.get(entry, 0)) & _UINT64
        words = {key: found.get(entry, "") for key, found in self._texts.items()}
        op = HloOp(
            program_id=program,
            program=self._program(program),
            name=name,
            category=words[names.HLO_CATEGORY] or "unknown",
            expression=text if " = " in text else "",
            framework_op=self._tf_ops.get(entry, "").rstrip(":"),
            deduplicated_name=words[names.DEDUPLICATED_NAME],
            source=words[names.SOURCE],
            source_stack=words[names.SOURCE_STACK],
            core_type=core_type,
            is_hlo=True,
            autotuned=False,
        )
        flops = float(self._recorded_flops[entry])
        accessed = float(self._ints[names.BYTES_ACCESSED].get(entry, math.nan))
        if op.category == CUSTOM_CALL:
            accessed = accessed or math.nan  # an op without bytes is one whose compiler saw none
        if op.category.endswith(ASYNC_START):
            return op, RunCost(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        model = float(self._ints[names.MODEL_FLOPS].get(entry, flops))
        spaces = self._breakdowns.get(entry, (0.0, 0.0, 0.0))
        # Without a breakdown all bytes count as device memory's (reference §5.3).
        return op, RunCost(
            model, flops, accessed, *(spaces if any(spaces) else (accessed, 0.0, 0.0))
        )

    def _compiled(self, program: int, name: str, framework_op: int) -> tuple[HloOp, RunCost]:
        """An HLO op that a kernel or a CPU event names; its module says the rest."""
        module = self._modules.get(program)
        found = module.instructions.get(name) if module is not None else None
        op_name = self._framework_ops[framework_op].name
        known = op_name if op_name != name else ""
        if module is None or found is None:
            return HloOp(
                program,
                self._program(program),
                name,
                "unknown",
                "",
                known,
                "",
                "",
                "",
                "",
                True,
                False,
            ), RunCost()
        op = HloOp(
            program_id=program,
            program=self._program(program),
            name=name,
            category=category(found),
            expression=expression(module, found),
            # Fusions often name none; the event that ran one may.
            framework_op=found.op_name + (f":{found.op_type}" if found.op_type else "")
            if found.op_name
            else known,
            deduplicated_name=found.deduplicated_name,
            source=source_line(module, found),
            source_stack=source_stack(module, found),
            core_type="",
            is_hlo=True,
            autotuned="autotun" in found.backend_config.lower(),
        )
        return op, self._analysed(program, module, found)

    def _analysed(self, program: int, module: HloModule, found: Instruction) -> RunCost:
        cost = self._costs(program).of(found)
        flops = cost.flops / _speedup(module, found)
        return RunCost(cost.flops, flops, cost.bytes, cost.bytes, math.nan, math.nan)

    def _program(self, program: int) -> str:
        module = self._modules.get(program)
        return f"{module.name if module is not None else 'program'}({program})"


def _speedup(module: HloModule, instruction: Instruction) -> int:
    """How much faster than 16-bit work its widest input is computed: 2 for 8 bits, 4 for 4."""
    inputs = [one.shape for one in module.operands(instruction)]
    if instruction.custom_call_target:
        inputs = inputs[:1]
    widest = max((leaf.bits for one in inputs for _, leaf in one.leaves()), default=0)
    return {8: 2, 4: 4}.get(widest, 1)
