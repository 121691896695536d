"""Matrix products that could run on tensor cores do not, and why.

What it checks: matrix products and convolutions whose kernel's name shows no tensor or matrix
cores, on a device that has them: those in 16 bits, and those in float32 that TF32 would serve.
Why it matters: the same product runs several times faster on tensor cores.
What to do: 16-bit products fall back when a dimension is not a multiple of 8: pad the batch, the
vocabulary or the number of channels. Float32 products use them once TF32 is allowed.
When it is wrong: a library's kernel uses tensor cores without its name saying so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.device_time import (
    EXACT,
    ON_TENSOR_CORES,
    KernelTime,
    factors_matrices,
    has_matrix_units,
    has_tf32,
    is_float32,
    is_product,
    kernel_time,
    no_matrix_units,
    said_name,
)
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import NARROWED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.kernel_stats import KernelRow

_EXPECTED, _MOST = ON_TENSOR_CORES
_CODE_16 = {
    "tensorflow": "layers.Dense(units=8 * math.ceil(units / 8))  # batch and vocabulary, too",
    "jax": "x = jnp.pad(x, ((0, 0), (0, -x.shape[1] % 8)))",
    "pytorch": "nn.Linear(n_in, 8 * math.ceil(n_out / 8))  # batch and vocabulary, too",
}
_CODE_TF32 = {
    "tensorflow": "tf.config.experimental.enable_tensor_float_32_execution(True)",
    "jax": "jax.config.update('jax_default_matmul_precision', 'tensorfloat32')",
    "pytorch": "torch.set_float32_matmul_precision('high')",
}


def tensor_cores_unused(results: Results) -> Iterator[Answer]:
    """Fires when products that tensor cores would serve cost 3 % of the step without them."""
    overview, kernels = results.overview_page, results.kernel_stats
    device, step = overview.environment.device_type, overview.steps.time_ms.mean
    if not has_matrix_units(device):
        yield no_matrix_units(device, f"{device} has no tensor or matrix cores.")
        return
    if not step > 0:
        yield NO_STEPS
        return
    narrow = kernel_time(kernels, overview, lambda row: _missed(row) and row.is_16_bit)
    wide = kernel_time(kernels, overview, lambda row: _missed(row) and is_float32(row))
    least = NEGLIGIBLE_FRAC * step
    if narrow.step_ms >= least:
        yield _finding(
            narrow,
            step,
            "in 16 bits run without tensor cores; their dimensions are not multiples of 8, or "
            "their data is not aligned",
            "Make batch, channels, units and vocabulary multiples of 8 (of 64 for best results).",
            _CODE_16,
        )
    if has_tf32(device) and wide.step_ms >= least:
        yield _finding(
            wide,
            step,
            "run in plain float32; TF32 is off, or they cannot use it",
            "Allow TF32: float32 products then run on tensor cores with 10 bits of mantissa.",
            _CODE_TF32,
            is_exact=factors_matrices(kernels),
        )
    if narrow.step_ms < least and (wide.step_ms < least or not has_tf32(device)):
        why = " (32-bit products cannot use them here)" if wide.step_ms >= least else ""
        yield Silence(
            f"16-bit products without tensor cores cost {narrow.step_ms / step:.1%} of the step"
            f"{why}."
        )


def _missed(row: KernelRow) -> bool:
    is_one = row.kernel_class in ("gemm", "convolution") and is_product(row)
    return is_one and not row.is_kernel_using_tensor_core


def _finding(
    missed: KernelTime, step: float, why: str, action: str, code: dict[str, str],
    *, is_exact: bool = False,
) -> Finding:  # fmt: skip
    expected = missed.step_ms * _EXPECTED
    return Finding(
        rule=RULE.id,
        severity="info" if is_exact else severity_of(expected, step),
        saving_ms=expected,
        saving_high_ms=missed.step_ms * _MOST,
        confidence=0.6,
        message=f"Matrix products that take {missed.step_ms:.3g} ms of each {step:.3g} ms step "
        f"{why} (longest: {said_name(missed.names[0])})." + EXACT * is_exact,
        measured={
            "missed_ms": missed.step_ms,
            "missed_frac": missed.step_ms / step,
            "kernel": missed.names[0],
        },
        evidence=(Ref("kernel_stats", "is_kernel_using_tensor_core", rows=missed.names[:3]),),
        actions=(
            action,
            "Look up the op in kernel_stats to see which layer launches the kernel.",
            "Update CUDA, cuDNN and cuBLAS: newer versions use tensor cores for more shapes.",
        ),
        code=code,
    )


RULE = Rule(
    id="tensor-cores-unused",
    check=tensor_cores_unused,
    needs=("overview_page", "kernel_stats"),
    parts=("op",),
    doc=__doc__ or "",
    change=NARROWED,
    title="Tensor cores are not used",
    threshold="eligible products without tensor cores ≥ 3 % of the step",
)
