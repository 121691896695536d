"""Device compute runs in 32 bits although the hardware is faster in 16.

What it checks: the share of device compute time in 16 bits, on a device that has matrix units.
Why it matters: tensor and matrix cores run bfloat16 and float16 several times faster than float32.
What to do: mixed precision.
When it is wrong: the model is bound by memory or needs float32 for its numerics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Finding, Ref

# Reference §3.5: below this share of 16-bit compute the incumbent speaks, too.
LOW_FRAC = 0.10
_MATRIX_UNITS = re.compile(r"Volta|Turing|Ampere|Ada|Hopper|Blackwell|TPU|gfx9|MI\d{3}")
_COMPUTE_FRAC = 0.10


def full_precision(results: Mapping[str, Any]) -> Iterator[Answer]:
    """Fires when less than 10 % of device compute is 16-bit and compute is 10 % of the step."""
    overview = results["overview_page"]
    low = overview.precision.bits_16_frac
    device = overview.environment.device_type
    if low is None:
        yield Unknown("No device compute was recorded.")
        return
    if low >= LOW_FRAC or not _MATRIX_UNITS.search(device):
        yield Silence(f"{low:.0%} of device compute is 16-bit on {device}.")
        return
    step = overview.steps.time_ms.mean
    compute = overview.breakdown_ms["device_compute_32"]
    if step > 0 and compute / step < _COMPUTE_FRAC:
        yield Silence(f"Device compute is only {compute / step:.1%} of the step.")
        return
    yield Finding(
        rule=RULE.id,
        severity="medium",
        saving_ms=compute / 2 if step > 0 else None,
        confidence=0.5,
        message=f"Only {low:.0%} of device compute is 16-bit on {device}.",
        evidence=(Ref("overview_page", "precision"), Ref("kernel_stats", "tensor_core_used")),
        actions=(
            "tf.keras.mixed_precision.set_global_policy('mixed_bfloat16')",
            "JAX: keep parameters in float32, compute in jnp.bfloat16.",
            "PyTorch: torch.autocast('cuda', torch.bfloat16).",
        ),
    )


RULE = Rule(
    id="full-precision",
    check=full_precision,
    needs=("overview_page",),
    doc=__doc__ or "",
    title="Compute in 32 bits on 16-bit hardware",
    threshold="16-bit compute < 10 % and compute ≥ 10 % of the step",
)
