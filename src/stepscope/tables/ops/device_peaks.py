"""What devices can do at most: the one table to edit when a new device appears.

A profile's own ``peak_*`` stats win. Otherwise a GPU's peak is its number of multiprocessors
times its clock (both recorded) times operations per cycle from this table; without a recorded
clock, that of its model (``gpu_models``). A TPU's and a CPU's come from the table alone. A device
the table lacks has no peak: no utilisation is shown rather than a wrong one. All FLOP
peaks are dense (no sparsity) and for the fastest of 16- and 32-bit floating point, since 8- and
4-bit work is normalised to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from stepscope.columns import pivot
from stepscope.records import dataclass
from stepscope.schema.numbers import as_integer
from stepscope.tables.core.devices import LEAST_CDNA, Device, devices
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.ops.gpu_models import model_peaks
from stepscope.tables.ops.hlo_totals import hlo_totals

_CUDA_GUIDE = "CUDA C++ Programming Guide, arithmetic throughput by compute capability"


class NvidiaRow(NamedTuple):
    """One compute capability: FLOPs per multiprocessor and cycle, shared memory bytes per cycle."""

    capability: tuple[int, int]
    vector_fp32: int
    vector_fp16: int
    tensor_fp16: int
    shared_bytes: int
    source: str

    def flops_by_type(self) -> dict[str, int]:
        """FLOPs per multiprocessor and cycle of each type, 0 where it has no units of its own.

        From Ampere on matrix units take bf16 as fast as fp16, and TF32 at half of that.
        """
        half = max(self.vector_fp16, self.tensor_fp16)
        has_ampere_types = self.capability >= (8, 0)
        return {
            "bf16": half if has_ampere_types else 0,
            "fp16": half,
            "tf32": self.tensor_fp16 // 2 if has_ampere_types else 0,
            "fp32": self.vector_fp32,
        }


NVIDIA: tuple[NvidiaRow, ...] = (
    NvidiaRow((3, 0), 384, 0, 0, 256, f"Kepler: 192 FP32 cores per SMX; {_CUDA_GUIDE}"),
    NvidiaRow((3, 2), 384, 0, 0, 256, f"Kepler: 192 FP32 cores per SMX; {_CUDA_GUIDE}"),
    NvidiaRow((3, 5), 384, 0, 0, 256, f"Kepler: 192 FP32 cores per SMX; {_CUDA_GUIDE}"),
    NvidiaRow((3, 7), 384, 0, 0, 256, f"Kepler: 192 FP32 cores per SMX; {_CUDA_GUIDE}"),
    NvidiaRow((5, 0), 256, 0, 0, 256, f"Maxwell: 128 FP32 cores per SM; {_CUDA_GUIDE}"),
    NvidiaRow((5, 2), 256, 0, 0, 256, f"Maxwell: 128 FP32 cores per SM; {_CUDA_GUIDE}"),
    NvidiaRow((5, 3), 256, 512, 0, 256, f"Maxwell (Tegra X1): paired FP16; {_CUDA_GUIDE}"),
    NvidiaRow(
        (6, 0), 128, 256, 0, 256, "NVIDIA Tesla P100 white paper: 64 FP32 cores, paired FP16"
    ),
    NvidiaRow(
        (6, 1), 256, 4, 0, 256, f"Pascal GP10x: 128 FP32 cores, 1/64 rate FP16; {_CUDA_GUIDE}"
    ),
    NvidiaRow((6, 2), 256, 512, 0, 256, f"Pascal (Tegra X2): paired FP16; {_CUDA_GUIDE}"),
    NvidiaRow((7, 0), 128, 256, 1024, 256, "NVIDIA V100 white paper: 8 tensor cores of 64 FMA"),
    NvidiaRow((7, 2), 128, 256, 1024, 256, "Xavier: 8 tensor cores of 64 FMA"),
    NvidiaRow((7, 5), 128, 256, 1024, 256, "NVIDIA Turing white paper: 8 tensor cores of 64 FMA"),
    NvidiaRow((8, 0), 128, 512, 2048, 256, "NVIDIA A100 white paper: 4 tensor cores of 256 FMA"),
    NvidiaRow((8, 6), 256, 256, 1024, 256, "NVIDIA GA102 white paper: 4 tensor cores of 128 FMA"),
    NvidiaRow((8, 7), 256, 512, 2048, 256, "Jetson Orin: 4 tensor cores of 256 FMA"),
    NvidiaRow((8, 9), 256, 256, 1024, 256, "NVIDIA Ada white paper: 4 tensor cores of 128 FMA"),
    NvidiaRow((9, 0), 256, 512, 4096, 256, "NVIDIA H100 white paper: 4 tensor cores of 512 FMA"),
    NvidiaRow((10, 0), 256, 512, 8192, 256, "NVIDIA B200: 2.25 PFLOP/s dense BF16, 148 SMs"),
    NvidiaRow((10, 3), 256, 512, 8192, 256, "NVIDIA B300: dense BF16 rate of B200"),
    NvidiaRow((12, 0), 256, 256, 1024, 256, "NVIDIA RTX Blackwell white paper: 4 × 128 FMA"),
)


class AmdRow(NamedTuple):
    """One architecture: FLOPs per compute unit and cycle, LDS bytes per cycle.

    ``min_units`` tells apart architectures that share a recorded capability: smaller devices of
    it have no matrix cores and are not listed. ``min_hbm_bytes`` is what the slowest memory of
    the architecture reaches (bytes/s, 0 where the recorded bandwidth is right as it is).
    """

    capability: tuple[int, int]
    min_units: int
    vector_fp32: int
    matrix_fp16: int
    lds_bytes: int
    source: str
    min_hbm_bytes: float = 0.0
    matrix_xf32: int = 0

    def flops_by_type(self) -> dict[str, int]:
        """FLOPs per compute unit and cycle of each type, 0 where it has no units of its own."""
        half = self.matrix_fp16
        return {"bf16": half, "fp16": half, "tf32": self.matrix_xf32, "fp32": self.vector_fp32}


AMD: tuple[AmdRow, ...] = (
    AmdRow(
        (9, 0),
        LEAST_CDNA,
        128,
        1024,
        128,
        "AMD CDNA and CDNA2 white papers (MI100, MI200): FP16 matrix",
    ),
    AmdRow(
        (9, 4),
        0,
        256,
        2048,
        128,
        "AMD CDNA3 white paper (MI300): FP16/BF16 matrix",
        5.3e12,
        matrix_xf32=1024,
    ),
    AmdRow(
        (9, 5), 0, 256, 4096, 256, "AMD CDNA4 white paper (MI350, MI355): FP16/BF16 matrix", 8.0e12
    ),
)


class TpuRow(NamedTuple):
    """One TPU core as a plane records it: TFLOP/s and HBM GB/s.

    ``clock_ghz`` is of its TensorCore, ``ici_gbps`` what the whole chip sends, or receives, over
    the links to other chips; NaN where unknown.
    """

    names: tuple[str, ...]
    tflops: float
    hbm_gbps: float
    source: str
    clock_ghz: float = math.nan
    ici_gbps: float = math.nan


_TPU_DOCS = "Google Cloud TPU documentation, system architecture"
# Clocks are from openxla/xprof, xplane_to_utilization_viewer.cc; links from the documentation.
TPU: tuple[TpuRow, ...] = (
    TpuRow(("TPU v2",), 22.5, 300.0, f"{_TPU_DOCS}: half of a v2 chip per core"),
    TpuRow(("TPU v3",), 61.5, 450.0, f"{_TPU_DOCS}: half of a v3 chip per core"),
    TpuRow(("TPU v4 Lite", "TPU v4i"), 138.0, 614.0, "TPU v4i paper (ISCA 2021)"),
    TpuRow(("TPU v4",), 275.0, 1228.0, f"{_TPU_DOCS}: v4"),
    TpuRow(("TPU v5 Lite", "TPU v5e"), 197.0, 819.0, f"{_TPU_DOCS}: v5e"),
    TpuRow(("TPU v5p", "TPU v5"), 459.0, 2765.0, f"{_TPU_DOCS}: v5p"),
    TpuRow(
        ("TPU v6 Lite", "TPU v6e"),
        918.0,
        1638.0,
        f"{_TPU_DOCS}: v6e",
        clock_ghz=1.75,
        ici_gbps=400.0,
    ),
    TpuRow(
        ("TPU v7x", "TPU7x"),
        1153.5,
        3690.0,
        f"{_TPU_DOCS}: half of a TPU7x chip per core",
        clock_ghz=1.9,
        ici_gbps=600.0,
    ),
)

# FP32 FLOPs per core and cycle by instruction set, for hosts whose plane records ``cpu_isa``,
# ``core_count`` and ``clock_rate`` (kHz). Sources: vendors' optimisation manuals, two FMA pipes.
CPU: dict[str, int] = {"sse4_2": 8, "avx": 16, "avx2": 32, "avx512": 64, "neon": 16}


@dataclass(frozen=True, slots=True)
class Peaks:
    """Upper limits of one device; NaN where unknown.

    Attributes:
        flops: FLOP/s, dense, fastest of 16- and 32-bit floating point.
        hbm_bytes: Bytes/s of device memory.
        on_chip_read_bytes, on_chip_write_bytes: Bytes/s of on-chip memory.
        source: Where ``flops`` comes from, "" when unknown.
        flops_by_type: FLOP/s of each type that is known ("fp16", "tf32", "fp32" …), none above
            ``flops``.
    """

    flops: float = math.nan
    hbm_bytes: float = math.nan
    on_chip_read_bytes: float = math.nan
    on_chip_write_bytes: float = math.nan
    source: str = ""
    flops_by_type: tuple[tuple[str, float], ...] = ()


def device_peaks(device: Device) -> Peaks:
    """The limits of one device."""
    found = device.capabilities
    base = Peaks()
    if device.kind is PlaneKind.GPU:
        found, base = _correct_bandwidth(found), _gpu(found, device.type)
    elif device.kind in (PlaneKind.TPU, PlaneKind.SPARSE_CORE):
        base = _tpu(device.type)
    return _recorded(found, base)


def _recorded(found: Mapping[str, object], base: Peaks) -> Peaks:
    """Limits that the profile itself states, before those of the table."""
    flops = _positive(found.get("peak_teraflops_per_second"), 1e12)
    hbm = _positive(found.get("peak_hbm_bw_gigabytes_per_second"), 1e9)
    memory = _positive(found.get("memory_bandwidth"), 1.0)
    read, write = (
        _first(
            *(
                _positive(found.get(f"peak_{kind}_{way}_bw_gigabytes_per_second"), 1e9)
                for kind in kinds
            )
        )
        for way, kinds in (("rd", ("vmem", "cmem", "sram")), ("wr", ("vmem", "cmem", "sram")))
    )
    most = _first(flops, base.flops)
    return Peaks(
        most,
        _first(hbm, memory, base.hbm_bytes),
        _first(read, base.on_chip_read_bytes),
        _first(write, base.on_chip_write_bytes),
        "the profile's own peak" if not math.isnan(flops) else base.source,
        # The table's fastest type is the one that the profile's own peak is of.
        tuple(
            (name, most if rate == base.flops else rate)
            for name, rate in base.flops_by_type
            if rate == base.flops or rate < most
        ),
    )


def _correct_bandwidth(found: Mapping[str, object]) -> Mapping[str, object]:
    """What was recorded of a GPU, its memory's bandwidth fixed where it is half of the truth.

    XLA records clock × width × 2 transfers; HBM3 of AMD makes 4 transfers to a clock, and ops
    that stream memory came out at 150 % of the "peak".
    """
    recorded = _positive(found.get("memory_bandwidth"), 1.0)
    if any(
        amd.capability == _capability(found) and recorded < amd.min_hbm_bytes
        for amd in AMD
        if _is_amd(found)
    ):
        return {**found, "memory_bandwidth": 2 * recorded}
    return found


def _is_amd(found: Mapping[str, object]) -> bool:
    return str(found.get("device_vendor", "")).upper() == "AMD"


def _capability(found: Mapping[str, object]) -> tuple[int, int]:
    return as_integer(found.get("compute_cap_major")), as_integer(found.get("compute_cap_minor"))


def _gpu(found: Mapping[str, object], type_: str) -> Peaks:
    capability = _capability(found)
    units, hertz = as_integer(found.get("core_count")), as_integer(found.get("clock_rate")) * 1e3
    cycles = units * hertz
    if not cycles:
        return _named(type_, units)
    if _is_amd(found):
        for amd in AMD:
            if amd.capability == capability and units >= amd.min_units:
                return _peaks_a_second(amd.flops_by_type(), amd.lds_bytes, cycles, amd.source)
        return Peaks()
    for row in NVIDIA:
        if row.capability == capability:
            return _peaks_a_second(row.flops_by_type(), row.shared_bytes, cycles, row.source)
    return Peaks()


def _peaks_a_second(
    flops: Mapping[str, int], local_bytes: int, cycles: float, source: str
) -> Peaks:
    """The limits from what a device does in a cycle, by type and to its shared memory."""
    local = cycles * local_bytes
    types = tuple((name, each * cycles) for name, each in flops.items() if each)
    return Peaks(cycles * max(flops.values()), math.nan, local, local, source, types)


def _named(type_: str, units: int) -> Peaks:
    """The limits of the model: all that a recording without clocks tells."""
    model = model_peaks(type_, units)
    if model is None:
        return Peaks()
    fastest = max(model.flops.get(one, 0.0) for one in ("bf16", "fp16", "tf32", "fp32"))
    types = tuple((name, rate) for name, rate in model.flops.items() if rate <= fastest)
    return Peaks(fastest, model.hbm_bytes, source=model.source, flops_by_type=types)


def _tpu(type_: str) -> Peaks:
    row = tpu_row(type_)
    if row is None:
        return Peaks()
    flops = row.tflops * 1e12
    return Peaks(flops, row.hbm_gbps * 1e9, source=row.source, flops_by_type=(("bf16", flops),))


def tpu_row(type_: str) -> TpuRow | None:
    """The table's row of a TPU of this type; None: not in it."""
    plain = type_.removesuffix(" SparseCore")
    return next((row for row in TPU if plain in row.names), None)


def _cpu(found: Mapping[str, object]) -> Peaks:
    per_cycle = CPU.get(str(found.get("cpu_isa", "")), 0)
    cycles = as_integer(found.get("core_count")) * as_integer(found.get("clock_rate")) * 1e3
    known = Peaks(cycles * per_cycle, source="instruction set, cores and clock of the host")
    return _recorded(found, known if cycles and per_cycle else Peaks())


@dataclass(frozen=True, slots=True)
class ActivePeaks:
    """The devices that did the work, and what one of them can do.

    Attributes:
        device_type: What they are; several types are joined by commas.
        peaks: Limits of one device; unknown where devices differ.
    """

    device_type: str
    peaks: Peaks


@derived
def active_peaks(profile: Profile) -> ActivePeaks:
    """The limits of the devices whose ops are counted (of the CPU when no device ran)."""
    on_device = any(hlo_totals(host).on_device for host in profile.hosts)
    if not on_device:
        found = [_cpu(_host_capabilities(host)) for host in profile.hosts]
        return ActivePeaks("CPU", _agreed(found))
    active = [one for host in profile.hosts for one in devices(host) if one.has_events]
    types = dict.fromkeys(one.type for one in active)
    return ActivePeaks(", ".join(types), _agreed([device_peaks(one) for one in active]))


def _agreed(found: list[Peaks]) -> Peaks:
    """The one limit of all devices; unknown when they differ."""
    # Compared as text, since NaN is not equal to NaN.
    return found[0] if len({repr(one) for one in found}) == 1 else Peaks()


def _host_capabilities(host: Host) -> Mapping[str, object]:
    rows = [row for row, kind in enumerate(planes(host).plane_kind) if kind is PlaneKind.HOST]
    merged: dict[str, object] = {}
    for row in rows:
        merged |= pivot.plane_stats(host.space, row)
    return merged


def _positive(value: object, scale: float) -> float:
    number = float(value) if isinstance(value, (int, float)) else 0.0
    return number * scale if number > 0 else math.nan


def _first(*values: float) -> float:
    return next((one for one in values if not math.isnan(one)), math.nan)
