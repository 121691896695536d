"""Cost of device work per step, for the rules that judge kernels."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from stepscope.advice.render import silent, unknown
from stepscope.advice.results import Results
from stepscope.records import dataclass
from stepscope.registry import Silence, Unknown
from stepscope.result import Ref
from stepscope.tables.core.thresholds import HALF_FRAC, LITTLE_FRAC, NAME_CHARS, SLOWED
from stepscope.tables.device.kernel_names import computes_in_64_bits, multiplies_no_matrices
from stepscope.verdicts.sentences import IDLE_LABELS, key_of

if TYPE_CHECKING:
    from stepscope.analysis.device_idle import DeviceIdle
    from stepscope.analysis.kernel_stats import KernelRow, KernelStats
    from stepscope.analysis.overview_page import OverviewPage

# Tensor cores from Volta on, matrix cores from CDNA on (gfx908, gfx90a, gfx94x, gfx95x), TPUs.
_MATRIX_UNITS = re.compile(r"Volta|Turing|Ampere|Ada|Hopper|Blackwell|TPU|gfx9|MI\d{3}")
# Those before them. Of another device, one that only says "AMD GPU" or is new, it is not known.
_NO_MATRIX_UNITS = re.compile(
    r"Fermi|Kepler|Maxwell|Pascal|Vega|gfx(?:[78]|10|90[024569c](?![0-9a-z]))|CPU"
)
# NVIDIA tensor cores that take float32 operands as TF32.
_TF32 = re.compile(r"Ampere|Ada|Hopper|Blackwell")
# Matrix units that take float16, but not bfloat16.
_NO_BF16 = re.compile(r"Volta|Turing")
# Kernels of these classes are products of matrices: what matrix units are made for.
MATRIX_CLASSES = ("gemm", "convolution", "attention", "rnn")
# Kernels that do not compute: their time is in other parts of the step.
_NO_COMPUTE = ("collective", "copy")
# Kernels that factor matrices and solve systems, as cuSOLVER, cuBLAS and rocSOLVER call them.
_FACTORS = re.compile(
    r"(?i)po(?:trf|trs)|ge(?:trf|trs|qrf|svd|sv)|sy(?:ev|gv|trf)|heev|hetrf|orgqr|ormqr|trs[mv]|"
    r"trtri|cholesky|jacobi_?svd|larf[gt]?_"
)


def has_matrix_units(device_type: str) -> bool:
    """Whether a device of this type multiplies matrices of 16-bit numbers in hardware."""
    return bool(_MATRIX_UNITS.search(device_type)) and not _NO_MATRIX_UNITS.search(device_type)


def no_matrix_units(device_type: str) -> Silence | Unknown:
    """Return the answer of a rule about matrix units for a device that is not known to have any."""
    if _NO_MATRIX_UNITS.search(device_type):
        return silent("no_matrix_units", device=device_type)
    return unknown("device_type")


def is_product(row: KernelRow) -> bool:
    """Whether a kernel is a product of matrices, which matrix units serve."""
    return row.kernel_class in MATRIX_CLASSES and not multiplies_no_matrices(row.name)


def is_float32(row: KernelRow) -> bool:
    """Whether a kernel is known to compute in single precision."""
    return row.is_precision_known and not row.is_16_bit and not computes_in_64_bits(row.name)


def has_bf16(device_type: str) -> bool:
    """Whether a device of this type multiplies matrices of bfloat16 numbers in hardware."""
    return has_matrix_units(device_type) and not _NO_BF16.search(device_type)


def has_tf32(device_type: str) -> bool:
    """Whether a device of this type can run float32 products on tensor cores."""
    return bool(_TF32.search(device_type))


def compute_ms(overview: OverviewPage) -> float:
    """Device compute that the mean step waits for, in ms."""
    parts = overview.breakdown_ms
    return float(parts["device_compute_16"] + parts["device_compute_32"])


@dataclass(frozen=True, slots=True)
class KernelTime:
    """Some kernels.

    Attributes:
        step_ms: What they cost per step: their share of the time of all kernels but collectives,
            of the device compute the step waits for. Kernels beside others cost their share.
        occurrences: How often they ran in the recording.
        mean_us: Their mean time.
        names: Their names, the longest total first.
        share_frac: Their share of the time of all kernels, as ``kernel_stats`` has it.
    """

    step_ms: float
    occurrences: float
    mean_us: float
    names: tuple[str, ...]
    share_frac: float


def kernel_time(
    kernels: KernelStats,
    overview: OverviewPage,
    chosen: Callable[[KernelRow], bool] = lambda _row: True,
) -> KernelTime:
    """The computing kernels among the rows of kernel_stats for which ``chosen`` holds."""
    rows, whole_us = kernels.kernels.records(), computing_us(kernels)
    own = [row for row in rows if row.kernel_class not in _NO_COMPUTE and chosen(row)]
    own_us = sum(row.total_duration_us for row in own)
    count = sum(row.occurrences for row in own)
    own.sort(key=lambda row: -row.total_duration_us)
    return KernelTime(
        step_ms=own_us / whole_us * compute_ms(overview) if whole_us else 0.0,
        occurrences=count,
        mean_us=own_us / count if count else float("nan"),
        names=tuple(dict.fromkeys(row.name for row in own)),
        share_frac=sum(row.share_frac for row in own),
    )


def computing_us(kernels: KernelStats) -> float:
    """The time of all kernels but collectives: those that copy are device compute of the step."""
    rows = kernels.kernels.records()
    return sum(row.total_duration_us for row in rows if row.kernel_class != "collective")


def factors_matrices(kernels: KernelStats) -> bool:
    """Whether kernels that factor matrices or solve systems have more than a trace of the time."""
    time_us: dict[str, float] = defaultdict(float)
    for row in kernels.kernels.records():
        time_us[row.name] += row.total_duration_us
    own = sum(time for name, time in time_us.items() if _FACTORS.search(name))
    return own > LITTLE_FRAC * sum(time_us.values())


def kernels_per_step(kernels: KernelStats, overview: OverviewPage) -> float:
    """Computing kernels that a device runs per step (NaN without steps)."""
    steps = overview.steps.count + overview.steps.dropped
    devices = len(kernels.by_device)
    count = kernel_time(kernels, overview).occurrences
    return count / steps / devices if steps and devices else float("nan")


def idle_ref(*causes: str) -> Ref:
    """The idle time of devices of these causes, where ``device_idle`` shows it."""
    return Ref("device_idle", "causes.idle_ms", rows=tuple(IDLE_LABELS[cause] for cause in causes))


def launch_calls(idle: DeviceIdle) -> tuple[float, float]:
    """Calls per step that launch kernels, and their mean time in µs (NaN without any).

    Those that start the device, of which there are few, say nothing about the others.
    """
    slow = {row.call: row for row in idle.slow_calls.records()}
    calls, total_us = 0.0, 0.0
    for row in idle.launches.records():
        first = slow.get(row.call)
        calls += row.per_step - (first.per_step if first else 0.0)
        total_us += row.per_step * row.mean_us - (first.total_ms * 1e3 if first else 0.0)
    # Slow calls need not launch a kernel of the recording, so that less than nothing may be left.
    return (calls, total_us / calls) if calls > 0 and total_us > 0 else (0.0, float("nan"))


def kernel_name(name: str) -> str:
    """A kernel's name as a sentence can hold it: as people call it, cut where that is long."""
    from stepscope.tables.device.short_names import short_name

    short, length = short_name(name), NAME_CHARS
    return short if len(short) <= length else short[: length - 1] + "…"


def may_be_the_recorders(results: Results, overview: OverviewPage) -> bool:
    """Whether devices that wait for the host may do so only because its launchers are recorded."""
    step, compute = overview.steps.time_ms.mean, compute_ms(overview)
    if key_of(overview.environment.framework) == "pytorch" and SLOWED * compute >= step:
        return True
    found = results.optional.compiled_regions
    if found is None or not SLOWED * compute >= step:
        return False
    return bool(sum(one.device_frac for one in found.regions.records()) >= HALF_FRAC)
