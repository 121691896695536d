"""Device compute runs in 32 bits although the hardware is faster in 16.

What it checks: the share of device compute in 16 bits or fewer, on a device that has matrix
units; where kernels are known, the matrix products and convolutions that run in 32 bits.
Why it matters: tensor and matrix cores run bfloat16 and float16 several times faster than float32
(V100: 125 against 15.7 TFLOP/s; A100: 312 against 19.5, and 156 in TF32), and half the bytes move.
What to do: mixed precision.
Where the products use tensor cores in TF32 already, and where a program factors matrices or solves
systems or computes in float64, it informs: how many bits are enough is the program's choice.
When it is wrong: the model needs float32 for its numerics, or its kernels are too small for their
arithmetic to matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepscope.advice.evidence.device_time import (
    EXACT,
    ON_TENSOR_CORES,
    compute_ms,
    factors_matrices,
    has_bf16,
    has_matrix_units,
    has_tf32,
    is_product,
    kernel_time,
    no_matrix_units,
    said_name,
)
from stepscope.advice.parts.changes import NARROWED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref
from stepscope.tables.device.kernel_names import computes_in_64_bits
from stepscope.verdicts.sentences import key_of

if TYPE_CHECKING:
    from stepscope.analysis.kernel_stats import KernelRow, KernelStats
    from stepscope.analysis.overview_page import OverviewPage, Precision

# Reference §3.5: below this share of 16-bit compute the incumbent speaks, too.
LOW_FRAC = 0.10
# Matrix products in 32 bits from this share of the step on speak even if others are in 16.
_MATRIX_FRAC = 0.20
_COMPUTE_FRAC = 0.10
# Products outside of tensor cores with less of the step are not a fault.
_SOME_FRAC = 0.10
# With more than this unknown, the rest says little of the whole.
_UNTOLD_FRAC = 0.5
# Expected and largest share that 16 bits save: of 32-bit products, of TF32 products (peak 2 times
# higher), and of everything else (half the bytes).
_PRODUCTS, _TF32_PRODUCTS, _BYTES = ON_TENSOR_CORES, (1 / 3, 1 / 2), (1 / 3, 1 / 2)
_BF16_CODE = {
    "tensorflow": "tf.keras.mixed_precision.set_global_policy('mixed_bfloat16')",
    "jax": "y = f(jax.tree.map(lambda p: p.astype(jnp.bfloat16), params), x.astype(jnp.bfloat16))",
    "pytorch": "with torch.autocast('cuda', dtype=torch.bfloat16):\n    loss = model(x)",
}
# Small gradients vanish in float16: the loss is scaled up before and gradients down after.
_FP16_CODE = {
    "tensorflow": "tf.keras.mixed_precision.set_global_policy('mixed_float16')",
    "jax": "loss_scale = jmp.DynamicLossScale(2.0**15)\n"
    "y = f(jax.tree.map(lambda p: p.astype(jnp.float16), params), x.astype(jnp.float16))",
    "pytorch": "scaler = torch.amp.GradScaler()\n"
    "with torch.autocast('cuda', dtype=torch.float16):\n    loss = model(x)",
}


@dataclass(frozen=True, slots=True)
class _Wide:
    """Time per step, in ms, of work in 32 bits.

    And whether the program may need them, whether kernels tell which of it are products, and
    whether most of it is in 64.
    """

    products: float
    tf32_products: float
    others: float
    names: tuple[str, ...]
    is_exact: bool = False
    is_known: bool = False
    is_double: bool = False

    def saving(self, which: int) -> float:
        """Expected (0) or largest (1) saving per step, in ms."""
        return (
            self.products * _PRODUCTS[which]
            + self.tf32_products * _TF32_PRODUCTS[which]
            + self.others * _BYTES[which]
        )


def full_precision(results: Results) -> Iterator[Answer]:
    """Fires when nearly no compute is 16-bit, or 32-bit products take a fifth of the step."""
    overview = results.overview_page
    low, device = overview.precision.bits_16_frac, overview.environment.device_type
    untold = overview.precision.unknown_frac or 0.0
    step = overview.steps.time_ms.mean
    if low is None:
        yield Unknown("No device compute was recorded.")
        return
    if not has_matrix_units(device):
        yield no_matrix_units(
            device, f"{device} has no matrix units: 16-bit math would not be faster."
        )
        return
    if untold > _UNTOLD_FRAC:
        yield Unknown(
            f"The precision of {untold:.0%} of device compute is unknown: neither shapes nor names "
            "show it; record the programs, too (enable_hlo_proto, record_shapes)."
        )
        return
    wide = _wide(overview, results.optional.kernel_stats)
    products = wide.products + wide.tf32_products
    if low >= LOW_FRAC and not (step > 0 and products >= _MATRIX_FRAC * step):
        yield Silence(f"{low:.0%} of device compute is in 16 bits or fewer.")
        return
    framework = key_of(overview.environment.framework)
    if not products and not framework and results.optional.kernel_stats is not None:
        yield Unknown(
            "No kernel is known to multiply matrices, and no framework was recorded: in which "
            "types the program's own kernels compute is its own choice."
        )
        return
    if step > 0 and compute_ms(overview) < _COMPUTE_FRAC * step:
        yield Silence(f"Device compute is only {compute_ms(overview) / step:.1%} of the step.")
        return
    yield _finding(overview, wide, low, device)


def _wide(overview: OverviewPage, kernels: KernelStats | None) -> _Wide:
    """The 32-bit work; without kernels products are unknown."""
    wide = overview.breakdown_ms["device_compute_32"] * _told_frac(overview.precision)
    if kernels is None:
        on_tpu = "TPU" in overview.environment.device_type
        # A TPU multiplies float32 in bfloat16 passes by default: only the bytes are saved.
        return _Wide(0.0, 0.0, wide, ()) if on_tpu else _Wide(wide / 2, 0.0, wide / 2, ())
    matrix = kernel_time(kernels, overview, lambda row: is_product(row) and _is_wide(row))
    tf32 = kernel_time(
        kernels,
        overview,
        lambda row: is_product(row) and _is_wide(row) and row.is_kernel_using_tensor_core,
    )
    double = kernel_time(kernels, overview, lambda row: computes_in_64_bits(row.name))
    # Which kernels compute in 16 bits the step's parts know better, where programs say it.
    products = min(matrix.step_ms, wide)
    tf32_ms = min(tf32.step_ms, products)
    exact = factors_matrices(kernels)
    return _Wide(
        products - tf32_ms,
        tf32_ms,
        wide - products,
        matrix.names[:3],
        is_exact=exact,
        is_known=True,
        is_double=double.step_ms > wide / 2,
    )


def _is_wide(row: KernelRow) -> bool:
    return row.is_precision_known and not row.is_16_bit


def _told_frac(precision: Precision) -> float:
    """The share of what the step's parts count as 32-bit that something says is."""
    wide, untold = precision.bits_32_frac or 0.0, precision.unknown_frac or 0.0
    return wide / (wide + untold) if wide + untold else 0.0


def _finding(overview: OverviewPage, wide: _Wide, low: float, device: str) -> Finding:
    step = overview.steps.time_ms.mean
    products = wide.products + wide.tf32_products
    bits = 64 if wide.is_double else 32
    most = f"; longest product: {said_name(wide.names[0])}" if wide.names else ""
    has_steps = step > 0
    severity = severity_of(wide.saving(0), step) if has_steps else "low"
    if _is_a_choice(wide, step, device):
        severity = "info"
    return Finding(
        rule=RULE.id,
        severity=severity,
        saving_ms=wide.saving(0) if has_steps else None,
        no_saving="" if has_steps else "no step was found to measure it in",
        saving_high_ms=wide.saving(1) if has_steps else None,
        confidence=0.6 if wide.names else 0.4,
        message=f"{overview.precision.bits_32_frac or 0.0:.0%} of device compute on {device} is in "
        f"{bits} bits"
        + (
            f"; {bits}-bit products take {products:.3g} ms of each {step:.3g} ms step"
            if products
            else ""
        )
        + most
        + "."
        + EXACT * wide.is_exact,
        measured={
            "bits_16_frac": low,
            "compute_32_ms": overview.breakdown_ms["device_compute_32"],
            "products_32_ms": products,
            "tf32_products_ms": wide.tf32_products,
            "device_type": device,
        },
        evidence=(
            Ref("overview_page", "precision"),
            Ref("kernel_stats", "is_16_bit", rows=wide.names),
        ),
        actions=(
            *_first_float32(wide),
            *_first_tf32(wide, step, device),
            "Train in mixed precision: variables in float32, compute in bfloat16."
            if has_bf16(device)
            else "Train in mixed precision: variables in float32, compute in float16 with a scaled "
            "loss (these matrix units do not take bfloat16).",
            "Keep the dimensions of matrices multiples of 8 (16-bit) or 16 (8-bit).",
        ),
        code=_BF16_CODE if has_bf16(device) else _FP16_CODE,
    )


def _first_float32(wide: _Wide) -> Iterator[str]:
    if wide.is_double:
        yield (
            "Compute in float32 first, where that is exact enough: look for float64 constants and "
            "NumPy arrays that reach the device."
        )


def _first_tf32(wide: _Wide, step_ms: float, device: str) -> Iterator[str]:
    if has_tf32(device) and not wide.is_double and wide.products >= _SOME_FRAC * step_ms:
        yield (
            "Allow TF32 first: products in float32 then run on tensor cores"
            "[pytorch:  (torch.set_float32_matmul_precision('high'))"
            " | jax:  (no precision=HIGHEST, no jax_default_matmul_precision)]."
        )


def _is_a_choice(wide: _Wide, step_ms: float, device: str) -> bool:
    """Whether fewer bits are an offer: nothing is slower than the hardware does it in 32 bits."""
    on_tensor_cores = has_tf32(device) and wide.is_known and wide.products < _SOME_FRAC * step_ms
    return wide.is_exact or wide.is_double or on_tensor_cores


RULE = Rule(
    id="full-precision",
    check=full_precision,
    needs=("overview_page",),
    optional=("kernel_stats",),
    parts=("op",),
    doc=__doc__ or "",
    change=NARROWED,
    title="32-bit compute on 16-bit hardware",
    threshold="16-bit compute < 10 %, or 32-bit products ≥ 20 % of the step; compute ≥ 10 %",
)
