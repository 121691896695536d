"""``roofline_model`` against the incumbent, row by row.

Every op the incumbent draws must be there with the same runs, times, rates, intensity, limit and
efficiency. Every difference that is accepted has its reason here.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from stepscope.analysis.roofline_model import roofline_model
from tests.oracle.recorded import answer, in_decimal_units, recording, rows

WITH_HLO = (
    "jax-mi300x/jax08_attention",
    "jax-mi300x/jax08_gemm",
    "jax-mi300x/jax_conv_minimal_08",
    "jax-mi300x/jax_conv_minimal_legacy",
    "jax-tpu-v6e-4",
    "julia-gtx1080ti/1",
    "julia-gtx1080ti/2",
    "julia-gtx1080ti/3",
)
TIMES = {
    "occurrences": "occurrences",
    "total_time_us": "total_time",
    "avg_time_us": "avg_time",
    "self_time_us": "total_self_time",
    "time_per_device_us": "total_time_per_core",
}
RATES = {
    "flop_rate_gflops": "measured_flop_rate",
    "memory_bw_gbps": "measured_memory_bw",
    "hbm_bw_gbps": "hbm_bw",
    "operational_intensity": "operational_intensity",
    "hbm_operational_intensity": "hbm_operational_intensity",
    "optimal_flop_rate_gflops": "optimal_flop_rate",
    "roofline_efficiency_frac": "roofline_efficiency",
    "bound_by": "bound_by",
}


def theirs(name: str) -> dict[tuple[str, str], dict[str, Any]]:
    table = rows(answer(name, "roofline_model")[0])
    found = {}
    for row in table:
        if row["rank"] and row["step"] == "Total":
            found[row["hlo_module_id"], row["operation"]] = row
    return found


def ours(name: str) -> dict[tuple[str, str], dict[str, Any]]:
    table = roofline_model(recording(name)).ops.rows()
    return {
        (row["program"].rpartition("(")[2].rstrip(")"), row["operation"]): row
        for row in table
        if row["step"] == "Total"
    }


# Ours differ from the incumbent's on purpose:
# * time per device: the incumbent divides by every device of the file, silent ones too.
SILENT_DEVICES = {
    "jax-mi300x/jax08_attention": 8,
    "jax-mi300x/jax08_gemm": 8,
    "jax-mi300x/jax_conv_minimal_legacy": 4,
}
# * an op of several kernels runs as often as its most frequent kernel (see test_hlo_stats).
SEVERAL_KERNELS = ("cudnn-conv.1", "cudnn-conv.1.0")
# * FLOPs on GPUs: the incumbent weighs elementwise operations with cycles of instructions and
#   has no cost for library calls; ours counts operations as XLA does, transcendental functions
#   apart, and takes a library call's from its operands. Only ops without arithmetic, or of one
#   product, can be compared. On a TPU all can.
NO_ELEMENTWISE = ("gemm_fusion_dot_general.1", "wrapped_broadcast", "copy.1", "wrapped_transpose")
# * an asynchronous copy moves its bytes until it is done; the incumbent counts them where it
#   starts as well, at 10^9 GiB/s.
ASYNC_START = "copy-start"
# * a copy that is done before the program waits for it takes no time there: the incumbent gives
#   it 10^8 % of the memory's bandwidth, ours no rate.
DONE_BEFORE = ("copy-done.1", "copy-done.3")


# * what the memory of an MI300X limits: the incumbent knows half of its bandwidth (see
#   test_hlo_stats), so its ridge, roofs and efficiencies are others.
OF_THE_PEAK = ("optimal_flop_rate_gflops", "roofline_efficiency_frac", "bound_by")


def test_the_incumbents_ops_are_all_there() -> None:
    for name in WITH_HLO:
        assert set(theirs(name)) - set(ours(name)) == set(), name
        # Beyond them ours has what ran outside any program: copies, and kernels of libraries.
        assert all(not program for program, _op in set(ours(name)) - set(theirs(name))), name


@pytest.mark.parametrize("name", WITH_HLO)
def test_times_of_every_op_equal_the_incumbents(name: str) -> None:
    found = ours(name)
    for key, wanted in theirs(name).items():
        for mine, its in TIMES.items():
            if key[1] in SEVERAL_KERNELS and mine in ("occurrences", "avg_time_us"):
                assert found[key]["occurrences"] * 2 - wanted["occurrences"] in (0, 1)
                continue
            silent = SILENT_DEVICES.get(name, 1) if mine == "time_per_device_us" else 1
            assert found[key][mine] == pytest.approx(wanted[its] * silent, rel=1e-6), (key, mine)


@pytest.mark.parametrize("name", WITH_HLO)
def test_rates_and_limits_equal_the_incumbents_where_it_counts_alike(name: str) -> None:
    found, on_tpu = ours(name), "tpu" in name
    compared = 0
    for key, wanted in theirs(name).items():
        alike = not key[1].startswith(ASYNC_START) if on_tpu else key[1] in NO_ELEMENTWISE
        if on_tpu and key[1] in DONE_BEFORE:
            assert wanted["roofline_efficiency"] > 1e6
            assert math.isnan(found[key]["roofline_efficiency_frac"] or math.nan)
            continue
        for mine, its in RATES.items() if alike else ():
            if "mi300x" in name and mine in OF_THE_PEAK:
                continue
            value = in_decimal_units(mine, wanted[its])
            near = value if isinstance(value, str) else pytest.approx(value, rel=1e-6)
            assert found[key][mine] == near, (key, mine)
            compared += 1
    assert compared >= 8 or "gtx" in name or "conv" in name


def test_bytes_of_gpu_ops_equal_the_incumbents_whatever_their_flops() -> None:
    found = ours("jax-mi300x/jax08_attention")
    alike = {k: v for k, v in theirs("jax-mi300x/jax08_attention").items() if "fusion" in k[1]}
    assert len(alike) > 10
    for key, wanted in alike.items():
        bandwidth = in_decimal_units("hbm_bw_gbps", wanted["hbm_bw"])
        assert found[key]["hbm_bw_gbps"] == pytest.approx(bandwidth, rel=1e-6), key
