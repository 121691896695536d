"""Which number names which hardware counter of a TPU, chip generation by generation.

A counter's number is its address in the chip. Blocks that occur several times (cores, tiles,
channels of memory) lie at equal distances and hold their counters in equal order, so a block's
first address, the distances and the offsets say all of them. Listed are the counters that
``tables.tpu_units`` reads.

Source of the numbers and names: openxla/xprof, xprof/utils/tpu_counter_ids_v6e.h and
tpu_counter_ids_v7x.h, of August 2026. Every counter that is read was compared with the lists there.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Final

from stepscope.records import dataclass

_WIDTH: Final = 8  # bytes of a counter, so the distance between neighbours


@dataclass(frozen=True, slots=True)
class PerfCounter:
    """One counter: its number and the name the recorder gives it (in lower case)."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Block:
    """Counters of one part of the chip, and where its copies are.

    Attributes:
        name: What the names of its counters begin with; ``{0}``, ``{1}`` … are the copy's place.
        first: Address from which the offsets count, in the first copy.
        copies: How many there are and how far apart, outermost first.
        offsets: Bytes from ``first`` to each counter.
    """

    name: str
    first: int
    offsets: Mapping[str, int]
    copies: tuple[tuple[int, int], ...] = ()

    def counters(self, name: str, *place: int) -> tuple[PerfCounter, ...]:
        """The counter of this name in every copy whose place begins with ``place``.

        Raises:
            KeyError: The block has no such counter.
        """
        offset = self.offsets[name]
        rest = [range(count) for count, _ in self.copies[len(place) :]]
        return tuple(
            PerfCounter(self._address(where) + offset, f"{self.name.format(*where)}{name}".lower())
            for where in product(*((one,) for one in place), *rest)
        )

    def _address(self, where: tuple[int, ...]) -> int:
        steps = zip(where, self.copies, strict=True)
        return self.first + sum(number * distance for number, (_, distance) in steps)


@dataclass(frozen=True, eq=False, slots=True)
class Generation:
    """A generation of chips. Blocks of cores have the core as their first place.

    Attributes:
        type: ``device_type_string`` of its planes.
        cores: TensorCores, each on a die with its own memory.
        sparse_cores: SparseCores of each die.
        tensor_core: Counters of a TensorCore.
        throttle: What the power manager counts of a TensorCore's clock; None: nothing.
        memory: Counters of the channels of HBM.
        sequencer: Counters of a SparseCore's sequencer; places are die and SparseCore.
        scalar_tiles, vector_tiles: Counters of a SparseCore's tiles.
        links: Counters of the ports between chips.
        link_ports: Ports that each copy of ``links`` counts.
        xlu_cycles: Cycles that an instruction of a cross-lane unit takes.
        integer_formats: The integers whose products have counters.
    """

    type: str
    cores: int
    sparse_cores: int
    tensor_core: Block
    memory: Block
    sequencer: Block
    scalar_tiles: Block
    vector_tiles: Block
    links: Block
    link_ports: int
    xlu_cycles: int
    throttle: Block | None = None
    integer_formats: tuple[str, ...] = ()


def _numbered(offsets: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """``{name: (offset, count)}`` to the offsets of ``name0``, ``name1`` … side by side."""
    return {
        f"{name}{number}": first + number * _WIDTH
        for name, (first, count) in offsets.items()
        for number in range(count)
    }


# What both generations count at the same offsets.
_TENSOR_CORE: Final = {
    "CYCLES": 0,
    "VST_INSTRUCTION": 280,
    **_numbered(
        {
            "SCALAR_ALU_INSTRUCTION_": (80, 2),
            "VECTOR_ALU_INSTRUCTION_": (248, 4),
            "VLD_INSTRUCTION_": (296, 2),
            "MATMUL_VREG_F32_MXU_": (384, 2),
            "MATMUL_VREG_BF16_MXU_": (400, 2),
            "MATMUL_VREG_F8_MXU_": (416, 2),
            "VPU_VALU_FADD_OPS_": (1688, 4),
            "VPU_VALU_FMUL_OPS_": (1720, 4),
            "VPU_VALU_MISC_OPS_": (1752, 4),
            "VPU_VALU_INT_OPS_": (1784, 4),
            "VPU_VALU_FMAC_OPS_": (1816, 4),
        }
    ),
}


def _matrix_and_lanes(first: int) -> dict[str, int]:
    """Counters that follow those of products; integer products of v6e move them back."""
    return _numbered(
        {
            "MXU_BUSY_": (first, 3),
            "MATPUSH_CYCLES_MXU_": (first + 40, 2),
            "ROTATE_PERMUTE_INSTRUCTION_XLU_": (first + 72, 2),
            "ROTATE_PERMUTE_SET_INSTRUCTION_XLU_": (first + 88, 2),
            "TRANSPOSE_XLU_": (first + 104, 2),
            "PACKED_XLU_": (first + 120, 2),
            "XLU_BUSY_": (first + 136, 3),
        }
    )


_INTEGER_PRODUCTS: Final = _numbered(
    {
        "MATMUL_VREG_I8_MXU_": (432, 2),
        "MATMUL_VREG_I4_MXU_": (448, 2),
        "MATMUL_LMR_I8_MXU_": (480, 2),
        "MATMUL_LMR_I4_MXU_": (496, 2),
    }
)
_CHANNEL: Final = _numbered(
    {"WR_REQ_PS": (0, 2), "PARTIAL_WRITE_REQ_PS": (16, 2), "RD_RESP_PS": (32, 2)}
)
_SCALAR: Final = {
    "SCALAR_ISSUE": 0,
    "S0_INSTRUCTION": 16,
    "S1_INSTRUCTION": 24,
    "SMISC_INSTRUCTION": 32,
}
_SEQUENCER: Final = {"CYCLES": 0, **{name: 8 + offset for name, offset in _SCALAR.items()}}
_TILE_SCALAR: Final = {f"TEC_{name}": offset for name, offset in _SCALAR.items()}
_TILE_VECTOR: Final = {
    name: number * _WIDTH
    for number, name in enumerate(
        (
            "VECTOR_ISSUE",
            "V0_INSTRUCTION",
            "V1_INSTRUCTION",
            "V2_INSTRUCTION",
            "VLD_INSTRUCTION",
            "VST_INSTRUCTION",
            "VRES_INSTRUCTION",
            "VEX_INSTRUCTION",
        )
    )
}
_STATS: Final = "STATS_COUNTERS_UNPRIVILEGED_"
_TCS: Final = f"TC_TCS_TC_MISC_TCS_STATS_TCS_{_STATS}COUNT_"
_FIFO: Final = f"PERF_COUNTERS_FIFO_{_STATS}"

V6E: Final = Generation(
    type="TPU v6e",
    cores=1,
    sparse_cores=2,
    tensor_core=Block(
        f"VF_CHIP_{_TCS}",
        0xC2290008,
        {
            **_TENSOR_CORE,
            **_INTEGER_PRODUCTS,
            **_numbered({"MATMUL_LMR_BF16_MXU_": (464, 2)}),
            **_matrix_and_lanes(512),
        },
        ((1, 0),),
    ),
    memory=Block(
        f"VF_CHIP_HBM_{{1}}_HBMC_{{2}}_CMN_HI_FREQ_{_STATS}",
        0xB4014018,
        _CHANNEL,
        ((1, 0), (2, 0x2000000), (16, 0x200000)),
    ),
    sequencer=Block(
        f"VF_CHIP_SC_{{1}}_SCS_SC_{_STATS}COUNT_",
        0xD2890008,
        _SEQUENCER,
        ((1, 0), (2, 0x2A00000)),
    ),
    scalar_tiles=Block(
        f"VF_CHIP_SC_{{1}}_SCT_{{2}}_SC_{_STATS}COUNT_",
        0xD0080008,
        {"CYCLES": 0, **{name: 480 + offset for name, offset in _TILE_SCALAR.items()}},
        ((1, 0), (2, 0x2A00000), (16, 0x200000)),
    ),
    vector_tiles=Block(
        f"VF_CHIP_SC_{{1}}_SCT_{{2}}_SC_{_STATS}COUNT_",
        0xD0080008,
        {name: 952 + offset for name, offset in _TILE_VECTOR.items()},
        ((1, 0), (2, 0x2A00000), (16, 0x200000)),
    ),
    links=Block(
        f"VF_CHIP_OCI_ICR_{_FIFO}",
        0xB00720B0,
        {
            "BN_RD_REQ_0_INSERTION_COUNT": 0,
            "BN_RD_REQ_1_INSERTION_COUNT": 56,
            "BN_WR_REQ_0_INSERTION_COUNT": 112,
            "BN_WR_REQ_1_INSERTION_COUNT": 168,
        },
    ),
    link_ports=2,
    xlu_cycles=4,
    integer_formats=("I8", "I4"),
)

_DIE: Final = (2, 0x20000000)
V7X: Final = Generation(
    type="TPU v7x",
    cores=2,
    sparse_cores=2,
    tensor_core=Block(
        f"VF_CHIP_DIE{{0}}_{_TCS}",
        0xA668A008,
        {
            **_TENSOR_CORE,
            **_numbered({"MATMUL_LMR_BF16_MXU_": (432, 2)}),
            **_matrix_and_lanes(448),
        },
        (_DIE,),
    ),
    throttle=Block(
        "VF_CHIP_DIE{0}_PWRMGR_PWRMGR_TC_THROTTLE_CORE_DEBUG_STATS_UNPRIVILEGED_",
        0xA9B94008,
        {
            "CYCLE_COUNT": 0,
            "CLOCKS_SKIPPED": 8,
            "EXT_THROTTLE_CLOCKS_SKIPPED": 32,
            "LDIDT_DROOP_CLOCKS_SKIPPED": 56,
        },
        (_DIE,),
    ),
    memory=Block(
        f"VF_CHIP_DIE{{0}}_HBM_{{1}}_SS_HBMC_{{2}}_CMN_HI_FREQ_{_STATS}",
        0xA1461418,
        _CHANNEL,
        (_DIE, (4, 0x200000), (16, 0x20000)),
    ),
    sequencer=Block(
        f"VF_CHIP_DIE{{0}}_SC_{{1}}_SCS_SC_{_STATS}COUNT_",
        0xA7F61008,
        _SEQUENCER,
        (_DIE, (2, 0x1A00000)),
    ),
    scalar_tiles=Block(
        f"VF_CHIP_DIE{{0}}_SC_{{1}}_SCTD_{{2}}_SC_{_STATS}COUNT_",
        0xA6726008,
        {"CYCLES": 0, **{name: 8 + offset for name, offset in _TILE_SCALAR.items()}},
        (_DIE, (2, 0x1A00000), (16, 0x100000)),
    ),
    vector_tiles=Block(
        f"VF_CHIP_DIE{{0}}_SC_{{1}}_SCTC_{{2}}_SC_{_STATS}COUNT_",
        0xA7724010,
        _TILE_VECTOR,
        (_DIE, (2, 0x1A00000), (16, 0x80000)),
    ),
    links=Block(
        f"VF_CHIP_DIE1_OCI_ICR_{{0}}_{_FIFO}",
        0xC106D120,
        {"BN_RD_REQ_0_INSERTION_COUNT": 0, "BN_WR_REQ_0_INSERTION_COUNT": 56},
        ((4, 0x8000),),
    ),
    link_ports=1,
    xlu_cycles=1,
)

GENERATIONS: Final = (V6E, V7X)


def generation_of(device_type: str) -> Generation | None:
    """The generation that a ``device_type_string`` names; None: its counters are unknown."""
    return next((one for one in GENERATIONS if one.type == device_type), None)
