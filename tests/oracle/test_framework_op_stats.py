"""``framework_op_stats`` against the incumbent, op by op, on every shared recording.

Occurrences must be equal, self and total time within 1 ns or 0.1 %. Every difference must be
listed in ``ACCEPTED`` with its reason, and everything listed must still differ.
"""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.analysis.framework_op_stats import Options, framework_op_stats
from tests.oracle.recorded import PROFILES, answer, recording, rows

IDLE_REASON = (
    "The incumbent's device idle is span - Σ op time, wrong where streams overlap or the span is "
    "taken from other events (reference §12.7); ours is span - union, so busy + idle = span."
)
NO_OPS_REASON = "The incumbent shows a row IDLE of 0 µs for a host without ops; ours shows none."
CPU_XLA_REASON = (
    "The incumbent sees no op on a JAX CPU host, so no idle either; ours reads the HLO ops that "
    "XLA ran there (reference §12.6)."
)
NAME_STAT_REASON = (
    "The kernels carry their framework op in the stat `name`; the incumbent takes only the HLO "
    "metadata, which XLA dropped for these fusions, and shows the fusion's name."
)
FOLDING_REASON = (
    "The convolution launches Im3d2Col and a GEMM each time; the incumbent folds only kernels that "
    "follow each other undisturbed into one occurrence and counts most pairs twice (reference "
    "§12.9). Each kernel ran as often as ours says."
)

CONV = "jit(forward_3d_conv)"
ACCEPTED: dict[tuple[str, str, str, str], str] = {
    ("jax-cpu", "Host", "IDLE", "total_time"): CPU_XLA_REASON,
    ("jax-cpu", "Host", "IDLE", "total_self_time"): CPU_XLA_REASON,
    ("julia-gtx1080ti/4", "Host", "IDLE", "missing"): NO_OPS_REASON,
    **{
        (name, "Device", "IDLE", field): IDLE_REASON
        for name in (
            "jax-mi300x/jax08_attention",
            "jax-mi300x/jax08_gemm",
            "jax-mi300x/jax_conv_minimal_legacy",
            "tf-v100-8gpu",
        )
        for field in ("total_time", "total_self_time")
    },
    **{
        ("jax-mi300x/jax08_attention", "Device", op, field): NAME_STAT_REASON
        for op, fields in {
            "jit(matmul)/dot_general": ("total_time", "total_self_time"),
            "loop_convert_fusion": ("occurrences", "total_time", "total_self_time"),
            "loop_reduce_fusion": ("missing",),
        }.items()
        for field in fields
    },
    (
        "jax-mi300x/jax_conv_minimal_08",
        "Device",
        f"{CONV}/conv_general_dilated",
        "occurrences",
    ): FOLDING_REASON,
    (
        "jax-mi300x/jax_conv_minimal_legacy",
        "Device",
        f"{CONV}/jit(main)/conv_general_dilated",
        "occurrences",
    ): FOLDING_REASON,
}

FIELDS = {
    "occurrences": "occurrences",
    "total_time": "total_time_us",
    "total_self_time": "self_time_us",
}


def differs(field: str, theirs: float, ours: float) -> bool:
    if field == "occurrences":
        return theirs != ours
    return abs(theirs - ours) > max(1e-3, 1e-3 * abs(theirs))


@pytest.mark.parametrize("name", PROFILES)
def test_op_by_op(name: str) -> None:
    found = framework_op_stats(recording(name), Options(include_idle=True))
    ours = {(row["host_or_device"], row["operation"]): row for row in found.ops.rows()}
    different: set[tuple[str, str, str, str]] = set()
    for theirs in rows(answer(name, "framework_op_stats")[0]):
        key = (theirs["host_or_device"], theirs["operation"])
        if key not in ours:
            different.add((name, *key, "missing"))
            continue
        # An op without a type has an empty one there.
        assert (theirs["type"] or "Unknown") == ours[key]["type"]
        different |= {
            (name, *key, field)
            for field, own in FIELDS.items()
            if differs(field, theirs[field], ours[key][own])
        }
    assert different == {key for key in ACCEPTED if key[0] == name}


@pytest.mark.parametrize("name", PROFILES)
def test_busy_and_idle_make_the_span_and_self_times_the_op_time(name: str) -> None:
    from stepscope.tables.ops.framework_totals import device_busy, device_op_totals, host_op_totals

    (host,) = recording(name).hosts
    for span, busy in device_busy(host).values():
        assert 0 <= busy <= span
    totals = device_op_totals(host)
    assert totals.idle_ps == sum(span - busy for span, busy in device_busy(host).values())
    for each in (totals, host_op_totals(host)):
        assert (each.self_ps >= 0).all()
        assert (each.self_ps <= each.total_ps).all()
        assert each.idle_ps >= 0


@pytest.mark.parametrize("name", PROFILES)
def test_the_parts_of_every_step_sum_to_it(name: str) -> None:
    from stepscope.tables.steps.attribution import PARTS, steps

    (host,) = recording(name).hosts
    found = steps(host)
    if found is None:
        assert name in (
            "jax-mi300x/jax08_attention",
            *(f"julia-gtx1080ti/{i}" for i in (1, 2, 3, 4)),
        )
        return
    total = np.sum([found.parts_ps[part] for part in PARTS], axis=0)
    assert np.array_equal(total, found.duration_ps)
    assert (found.start_ps[1:] >= found.end_ps[:-1]).all()
    for busy in found.busy_ps.values():
        assert (busy <= found.duration_ps).all()
