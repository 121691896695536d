"""What a TPU's counters say of its units: work done, and the most that the cycles allowed.

A measure is a weighted sum of counters over a limit: cycles × what a unit can start in one, or
the time these cycles take × the bandwidth of memory or of links. The weights are facts of the
hardware: cycles that an instruction keeps its unit busy, bytes that a request moves.

Source of the sums and weights: openxla/xprof, xprof/convert/tpu_generic_utilization_utils.cc, of
August 2026. docs/tools/utilization_viewer.md says what is counted otherwise here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Final, Literal

import numpy as np

from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.tables.ops.roofline import F64
from stepscope.tables.tpu.counters import Generation, PerfCounter

# A unit can be the busiest; a detail is a part of one, or the same seen otherwise; a state is how
# many cycles something was so, and nobody wants it at its limit.
CounterRole = Literal["unit", "detail", "state"]
UnitLimit = Literal["cycles", "memory", "links"]
# Counters, each with what one of its counts weighs.
Work = tuple[tuple[PerfCounter, float], ...]

MATRIX_UNITS: Final = 2  # MXUs, and as many XLUs, of a TensorCore
_SCALAR_ALUS: Final = 2
_VECTOR_ALUS: Final = 4
_LOAD_PORTS: Final = 2
_TILES: Final = 16
# Cycles that a product keeps its MXU busy, by where the moving operand comes from (the matrix
# unit's own memory or vector registers) and its format.
_PRODUCT_CYCLES: Final = {
    "LMR_BF16": 4.0,
    "VREG_BF16": 8.0,
    "VREG_F32": 4.0,
    "VREG_F8": 8.0,
    "LMR_I8": 2.0,
    "VREG_I8": 8.0,
    "LMR_I4": 2.0,
    "VREG_I4": 8.0,
}
_MEMORY_BEAT_BYTES: Final = 32.0
_LINK_FLIT_BYTES: Final = 128.0
_VECTOR_OPS: Final = ("FADD", "FMUL", "MISC", "INT", "FMAC")
_LANE_INSTRUCTIONS: Final = (
    "PACKED_XLU",
    "ROTATE_PERMUTE_INSTRUCTION_XLU",
    "ROTATE_PERMUTE_SET_INSTRUCTION_XLU",
    "TRANSPOSE_XLU",
)
_SCALAR_SLOTS: Final = ("S0", "S1", "SMISC")
_VECTOR_SLOTS: Final = ("V0", "V1", "V2", "VLD", "VST", "VEX", "VRES")


@dataclass(frozen=True, slots=True)
class Measure:
    """How much of its limit one unit of one core reached.

    Attributes:
        part: "TensorCore", "SparseCore", "HBM", "ICI" or "Clock".
        core: Which of the chip's; 0 for what a chip has once.
        unit: What is measured.
        role: See ``CounterRole``.
        counted_in: What the sum is in: "instructions", "operations", "cycles" or "bytes".
        work: The counters that are summed, with their weights.
        cycles: The counter of the cycles in which it could have worked.
        limit: What the cycles allow: an amount per cycle, or the bandwidth of memory or links.
        per_cycle: Σ that one cycle allows, where ``limit`` is "cycles".
    """

    part: str
    core: int
    unit: str
    role: CounterRole
    counted_in: str
    work: Work
    cycles: PerfCounter
    limit: UnitLimit = "cycles"
    per_cycle: float = 1.0


@dataclass(frozen=True, eq=False, slots=True)
class Sums:
    """The measures of a generation as columns, to be summed for a sample at once.

    Attributes:
        ids: Numbers of the counters that are summed, measure after measure.
        weights: The weight of each.
        begin: Where each measure begins in ``ids``.
        cycles: Number of the counter of each measure's cycles.
    """

    ids: I64
    weights: F64
    begin: I64
    cycles: I64


@lru_cache
def measures(chip: Generation) -> tuple[Measure, ...]:
    """Everything that is measured of a chip of this generation, core by core."""
    cores = (_tensor_core(chip, core) for core in range(chip.cores))
    sparse = (
        _sparse_core(chip, die, one)
        for die in range(chip.cores)
        for one in range(chip.sparse_cores)
    )
    return (*chain.from_iterable(cores), *chain.from_iterable(sparse), *_links(chip))


@lru_cache
def sums(chip: Generation) -> Sums:
    """``measures`` as columns."""
    rows = measures(chip)
    lengths = [len(one.work) for one in rows]
    return Sums(
        ids=np.asarray([counter.id for one in rows for counter, _ in one.work], dtype=np.int64),
        weights=np.asarray([weight for one in rows for _, weight in one.work], dtype=np.float64),
        begin=np.cumsum([0, *lengths[:-1]], dtype=np.int64),
        cycles=np.asarray([one.cycles.id for one in rows], dtype=np.int64),
    )


def _weighted(counters: Iterable[PerfCounter], weight: float = 1.0) -> Work:
    return tuple((counter, weight) for counter in counters)


def core_cycles(chip: Generation, core: int) -> PerfCounter:
    """The cycles in which a TensorCore could have worked, those its clock skipped included."""
    if chip.throttle:
        return chip.throttle.counters("CYCLE_COUNT", core)[0]
    return clock_cycles(chip, core)


def clock_cycles(chip: Generation, core: int) -> PerfCounter:
    """The cycles that a TensorCore itself counted: time, once divided by its clock."""
    return chip.tensor_core.counters("CYCLES", core)[0]


def _tensor_core(chip: Generation, core: int) -> Iterator[Measure]:
    cycles = core_cycles(chip, core)

    def numbered(name: str, count: int) -> Work:
        names = [f"{name}_{number}" for number in range(count)]
        return _weighted(_sum(chip.tensor_core.counters(one, core) for one in names))

    def measure(
        unit: str,
        work: Work,
        counted_in: str,
        per_cycle: float = 1.0,
        role: CounterRole = "unit",
    ) -> Measure:
        return Measure(
            "TensorCore", core, unit, role, counted_in, work, cycles, per_cycle=per_cycle
        )

    kinds = (numbered(f"VPU_VALU_{kind}_OPS", _VECTOR_ALUS) for kind in _VECTOR_OPS)
    stores = _weighted(chip.tensor_core.counters("VST_INSTRUCTION", core))
    scalar = numbered("SCALAR_ALU_INSTRUCTION", _SCALAR_ALUS)
    vector = numbered("VECTOR_ALU_INSTRUCTION", _VECTOR_ALUS)
    loads = numbered("VLD_INSTRUCTION", _LOAD_PORTS)
    yield measure("Scalar unit", scalar, "instructions", _SCALAR_ALUS)
    yield measure("Vector ALUs", vector, "instructions", _VECTOR_ALUS)
    yield measure(
        "Vector ALUs, operations",
        tuple(chain.from_iterable(kinds)),
        "operations",
        _VECTOR_ALUS,
        "detail",
    )
    yield measure("Vmem loads", loads, "instructions", _LOAD_PORTS)
    yield measure("Vmem stores", stores, "instructions")
    yield from _busy(chip, core, "MXU")
    yield from _products(chip, core)
    yield measure(
        "MXU, pushing weights",
        numbered("MATPUSH_CYCLES_MXU", MATRIX_UNITS),
        "cycles",
        MATRIX_UNITS,
        "detail",
    )
    yield from _busy(chip, core, "XLU")
    for unit in range(MATRIX_UNITS):
        names = (f"{kind}_{unit}" for kind in _LANE_INSTRUCTIONS)
        work = _weighted(_sum(chip.tensor_core.counters(one, core) for one in names))
        yield measure(f"XLU {unit}", work, "instructions", 1 / chip.xlu_cycles, "detail")
    yield from _throttling(chip, core)
    yield from _memory(chip, core)


def _sum(parts: Iterable[tuple[PerfCounter, ...]]) -> tuple[PerfCounter, ...]:
    return tuple(chain.from_iterable(parts))


def _busy(chip: Generation, core: int, kind: str) -> Iterator[Measure]:
    """The mean of two units over the cycles in which none, one or both were busy."""
    cycles = core_cycles(chip, core)
    none, one, both = (
        chip.tensor_core.counters(f"{kind}_BUSY_{number}", core)[0] for number in range(3)
    )
    busy = ((one, 0.5), (both, 1.0))
    yield Measure("TensorCore", core, kind, "unit", "cycles", busy, cycles)
    for label, counter in (("none", none), ("one", one), ("both", both)):
        unit, work = f"{kind}s busy: {label}", ((counter, 1.0),)
        yield Measure("TensorCore", core, unit, "state", "cycles", work, cycles)


def _products(chip: Generation, core: int) -> Iterator[Measure]:
    """Cycles of products: of each MXU over all formats, and of each format over both."""
    formats = {
        "BF16 and F32": ("LMR_BF16", "VREG_BF16", "VREG_F32"),
        "F8": ("VREG_F8",),
        **{one: (f"LMR_{one}", f"VREG_{one}") for one in chip.integer_formats},
    }

    def work(kinds: Iterable[str], units: Iterable[int]) -> Work:
        return tuple(
            (counter, _PRODUCT_CYCLES[kind])
            for unit in units
            for kind in kinds
            for counter in chip.tensor_core.counters(f"MATMUL_{kind}_MXU_{unit}", core)
        )

    both, cycles = range(MATRIX_UNITS), core_cycles(chip, core)
    every = tuple(chain.from_iterable(formats.values()))
    rows = [(f"MXU {unit}, products", work(every, (unit,)), 1) for unit in both]
    rows += [
        (f"MXU, {label} products", work(kinds, both), MATRIX_UNITS)
        for label, kinds in formats.items()
    ]
    for label, counters, per_cycle in rows:
        yield Measure(
            "TensorCore", core, label, "detail", "cycles", counters, cycles, per_cycle=per_cycle
        )


def _throttling(chip: Generation, core: int) -> Iterator[Measure]:
    if not chip.throttle:
        return
    for name, unit in (
        ("CLOCKS_SKIPPED", "Cycles skipped"),
        ("EXT_THROTTLE_CLOCKS_SKIPPED", "Cycles skipped, throttled from outside"),
        ("LDIDT_DROOP_CLOCKS_SKIPPED", "Cycles skipped, voltage drooped"),
    ):
        work = _weighted(chip.throttle.counters(name, core))
        yield Measure("Clock", core, unit, "state", "cycles", work, core_cycles(chip, core))


def _memory(chip: Generation, core: int) -> Iterator[Measure]:
    def beats(*names: str) -> Work:
        pseudo = (f"{name}{number}" for name in names for number in range(2))
        counters = _sum(chip.memory.counters(name, core) for name in pseudo)
        return _weighted(counters, _MEMORY_BEAT_BYTES)

    read, write = beats("RD_RESP_PS"), beats("WR_REQ_PS", "PARTIAL_WRITE_REQ_PS")
    rows: tuple[tuple[str, CounterRole, Work], ...] = (
        ("HBM", "unit", read + write),
        ("HBM, read", "detail", read),
        ("HBM, written", "detail", write),
    )
    for unit, role, work in rows:
        cycles = clock_cycles(chip, core)
        yield Measure("HBM", core, unit, role, "bytes", work, cycles, limit="memory")


def _sparse_core(chip: Generation, die: int, one: int) -> Iterator[Measure]:
    core = die * chip.sparse_cores + one
    # All tiles of a SparseCore have one clock: the first tile's cycles are everyone's.
    tile_cycles = chip.scalar_tiles.counters("CYCLES", die, one, 0)[0]
    cycles = chip.sequencer.counters("CYCLES", die, one)[0]
    parts = (
        ("SC tiles, scalar", "TEC_SCALAR_ISSUE", "TEC_", _SCALAR_SLOTS, chip.scalar_tiles),
        ("SC tiles, vector", "VECTOR_ISSUE", "", _VECTOR_SLOTS, chip.vector_tiles),
        ("SC sequencer", "SCALAR_ISSUE", "", _SCALAR_SLOTS, chip.sequencer),
    )
    for unit, issue, prefix, slots, block in parts:
        is_tiles = block is not chip.sequencer
        whole: tuple[str, str, CounterRole] = (issue, unit, "unit")
        each: list[tuple[str, str, CounterRole]] = [
            (f"{prefix}{slot}_INSTRUCTION", f"{unit} {slot}", "detail") for slot in slots
        ]
        for name, label, role in (whole, *each):
            yield Measure(
                "SparseCore",
                core,
                label,
                role,
                "instructions",
                _weighted(block.counters(name, die, one)),
                tile_cycles if is_tiles else cycles,
                per_cycle=_TILES if is_tiles else 1,
            )


def _links(chip: Generation) -> Iterator[Measure]:
    """Bytes over the links between chips, which the first core's cycles time."""
    for direction, unit in (("RD", "ICI, read"), ("WR", "ICI, written")):
        names = [f"BN_{direction}_REQ_{port}_INSERTION_COUNT" for port in range(chip.link_ports)]
        work = _weighted(_sum(map(chip.links.counters, names)), _LINK_FLIT_BYTES)
        yield Measure("ICI", 0, unit, "unit", "bytes", work, core_cycles(chip, 0), limit="links")
