"""Kernels that only rearrange memory surround convolutions.

What it checks: the time of kernels that transpose or convert layouts (NCHW to NHWC and back) in a
program that convolves.
Why it matters: tensor cores convolve channels-last; channels-first data is transposed before and
after each convolution, which computes nothing.
What to do: keep images channels-last (NHWC) from the input on.
When it is wrong: the transposes belong to attention or to the model itself, not to convolutions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.device_time import KernelTime, kernel_time, said_name
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import REMOVED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.kernel_stats import KernelRow

_CONVOLUTION = re.compile(r"conv(?!er)", re.IGNORECASE)
_TRANSPOSE = re.compile(r"nchw|nhwc|transpose|SwapDimension|ncdhw|ndhwc|shuffle", re.IGNORECASE)
# Some transposes remain: at the input, around reshapes.
_EXPECTED = 0.8
# PyTorch gives channels_last to cuDNN's norms, and channels-first to kernels of its own, which
# take several times as long: of their time this much may go with the transposes.
_NORMS_FRAC = 2 / 3


def layout_transposes(results: Results) -> Iterator[Answer]:
    """Fires when layout kernels of a program that convolves cost 3 % of the step or more."""
    overview, kernels = results.overview_page, results.kernel_stats
    step = overview.steps.time_ms.mean
    if not step > 0:
        yield NO_STEPS
        return
    convolving = kernel_time(kernels, overview, _convolves)
    if not convolving.occurrences:
        yield Silence("No kernel is named after a convolution.")
        return
    turning = kernel_time(kernels, overview, _rearranges)
    if turning.step_ms < NEGLIGIBLE_FRAC * step:
        yield Silence(f"Kernels that change layouts cost {turning.step_ms / step:.1%} of the step.")
        return
    is_torch = overview.environment.framework == "PyTorch"
    norms = kernel_time(kernels, overview, _normalises).step_ms if is_torch else 0.0
    yield _finding(turning, convolving, norms, step)


def _convolves(row: KernelRow) -> bool:
    return not _rearranges(row) and (
        row.kernel_class == "convolution" or bool(_CONVOLUTION.search(row.op_name))
    )


def _normalises(row: KernelRow) -> bool:
    return row.kernel_class == "normalization" and "native_batch_norm" in row.op_name


def _rearranges(row: KernelRow) -> bool:
    return row.kernel_class == "layout" and bool(_TRANSPOSE.search(row.name))


def _finding(turning: KernelTime, convolving: KernelTime, norms_ms: float, step: float) -> Finding:
    beside = f", norms between them {norms_ms:.3g} ms, most of which may go with it"
    return Finding(
        rule=RULE.id,
        severity=severity_of(_EXPECTED * turning.step_ms, step),
        saving_ms=_EXPECTED * turning.step_ms,
        saving_high_ms=turning.step_ms + _NORMS_FRAC * norms_ms,
        confidence=0.7,
        message=f"Changing layouts takes {turning.step_ms:.3g} ms of each {step:.3g} ms step, the "
        f"convolutions themselves {convolving.step_ms:.3g} ms"
        f"{beside if norms_ms >= NEGLIGIBLE_FRAC * step else ''} "
        f"(longest: {said_name(turning.names[0])}).",
        measured={
            "layout_ms": turning.step_ms,
            "layout_frac": turning.step_ms / step,
            "convolution_ms": convolving.step_ms,
            "norms_ms": norms_ms,
        },
        evidence=(Ref("kernel_stats", "kernel_class=layout", rows=turning.names[:3]),),
        actions=(
            "Keep activations channels-last from the input pipeline to the last convolution.",
            "Transpose once, in the input pipeline, if the files are channels-first.",
        ),
        code={
            "tensorflow": "tf.keras.backend.set_image_data_format('channels_last')",
            "jax": "lax.conv_general_dilated(x, w, strides, 'SAME',\n"
            "    dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
            "pytorch": "model = model.to(memory_format=torch.channels_last)\n"
            "x = x.to(memory_format=torch.channels_last)",
        },
    )


RULE = Rule(
    id="layout-transposes",
    check=layout_transposes,
    needs=("overview_page", "kernel_stats"),
    parts=("op",),
    doc=__doc__ or "",
    change=REMOVED,
    title="Layouts change around convolutions",
    threshold="layout kernels ≥ 3 % of the step where something convolves",
)
