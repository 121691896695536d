"""Kernel statistics on profiles whose answers can be worked out by hand."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.kernel_stats import OTHERS, TOOL, KernelStats, Options, kernel_stats
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import worked_example
from tests.profiles.model import Event, gpu, host, line, plane, space, stream

CUPTI = "regs:32 static_shared:0 dynamic_shared:{shared} grid:{grid},1,1 block:32,1,1 occ_pct:50"


def launch(shared: int = 0, grid: int = 2) -> str:
    return CUPTI.format(shared=shared, grid=grid)


def kernel(name: str, start: float, duration: float, op: str = "", details: str = "") -> Event:
    stats: dict[str, object] = {"kernel_details": details or launch()}
    return Event(name, start, duration, stats | ({"tf_op": op} if op else {}))


def profile(*hosts: bytes) -> Profile:
    return Profile("s", tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(hosts)))


def stats(*hosts: bytes, **options: Any) -> KernelStats:
    return kernel_stats(profile(*hosts), Options(**options))


def two_streams() -> bytes:
    return space(
        gpu(
            0,
            stream(
                7,
                kernel("volta_s884gemm_fp16", 0, 30, "a/MatMul:MatMul"),
                kernel("volta_s884gemm_fp16", 40, 50, "a/MatMul:MatMul"),
                kernel("volta_s884gemm_fp16", 100, 20, "b/MatMul:MatMul"),
            ),
            stream(
                13,
                kernel("volta_s884gemm_fp16", 10, 10, "a/MatMul:MatMul", launch(grid=4)),
                kernel("relu_kernel", 60, 5),
                Event("MemcpyH2D", 70, 9, {"memcpy_details": "size:4 dest:0 async:1"}),
            ),
        )
    )


def test_median_and_deviation_are_of_all_runs_of_a_row() -> None:
    (gemm, relu) = stats(two_streams(), group_by="name").kernels.rows()
    # 10, 20, 30 and 50: the mean is 27.5, the squares of the distances sum to 875.
    assert gemm["median_duration_us"] == 25
    assert gemm["std_duration_us"] == pytest.approx((875 / 3) ** 0.5)
    assert (relu["median_duration_us"], relu["std_duration_us"]) == (5, None)


def test_the_runs_of_all_hosts_have_one_median() -> None:
    short = space(gpu(0, stream(1, kernel("k", 0, 1), kernel("k", 10, 2))))
    long = space(gpu(0, stream(1, kernel("k", 0, 60))))
    (row,) = stats(short, long).kernels.rows()
    assert (row["median_duration_us"], row["avg_duration_us"]) == (2, 21)


def test_a_row_is_a_kernel_as_launched_for_an_op() -> None:
    rows = list(stats(two_streams()).kernels.rows())
    found = [(r["name"], r["op_name"], r["grid_dim"], r["occurrences"]) for r in rows]
    assert found == [
        ("volta_s884gemm_fp16", "a/MatMul", "2,1,1", 2),
        ("volta_s884gemm_fp16", "b/MatMul", "2,1,1", 1),
        ("volta_s884gemm_fp16", "a/MatMul", "4,1,1", 1),
        ("relu_kernel", "", "2,1,1", 1),
    ]
    first = rows[0]
    assert (first["total_duration_us"], first["avg_duration_us"]) == (80, 40)
    assert (first["min_duration_us"], first["max_duration_us"]) == (30, 50)
    assert (first["registers_per_thread"], first["block_dim"]) == (32, "32,1,1")
    assert first["occupancy_frac"] == 0.5
    assert first["is_kernel_using_tensor_core"] and first["is_op_tensor_core_eligible"]


@pytest.mark.parametrize(
    ("group_by", "wanted"),
    [
        ("kernel", [80.0, 20.0, 10.0, 5.0]),
        ("op", [90.0, 20.0, 5.0]),
        ("class", [110.0, 5.0]),
        ("name", [110.0, 5.0]),
    ],
)
def test_groupings_add_up(group_by: str, wanted: list[float]) -> None:
    assert list(stats(two_streams(), group_by=group_by).kernels["total_duration_us"]) == wanted


def test_values_that_differ_within_a_group_are_not_available() -> None:
    row = next(stats(two_streams(), group_by="name").kernels.rows())
    assert (row["grid_dim"], row["registers_per_thread"], row["op_name"]) == ("", 32, "")
    assert (row["min_duration_us"], row["max_duration_us"]) == (10, 50)


def test_hosts_and_devices_are_merged_by_adding() -> None:
    found = stats(two_streams(), two_streams())
    assert list(found.kernels["occurrences"]) == [4, 2, 2, 2]
    assert next(found.kernels.rows())["devices"] == "h0/GPU:0, h1/GPU:0"
    assert list(found.by_device["total_duration_us"]) == [115, 115]


def test_kernels_shorter_than_a_nanosecond_count() -> None:
    short = space(gpu(0, stream(7, kernel("relu_kernel", 0, 0.0005))))
    row = next(stats(short).kernels.rows())
    assert (row["occurrences"], row["total_duration_us"]) == (1, 0.0005)


def test_kernel_details_of_host_events_mean_nothing() -> None:
    on_host = space(host(line("python", kernel("cuLaunchKernel", 0, 10))))
    assert TOOL.available(profile(on_host)) is not None
    assert len(stats(on_host).kernels) == 0


def test_shares_refer_to_all_kernels() -> None:
    found = stats(two_streams())
    assert sum(found.kernels["share_frac"]) == pytest.approx(1)
    assert found.totals.total_duration_us == 115
    assert found.totals.tensor_core_frac == pytest.approx(110 / 115)
    assert found.totals.tensor_core_missed_us == 0


def test_the_pie_ends_with_all_others() -> None:
    many = space(gpu(0, stream(7, *(kernel(f"k{i}", 10 * i, 1 + i % 3) for i in range(15)))))
    found = stats(many)
    assert len(found.longest) == 11
    assert found.longest["name"][-1] == OTHERS
    assert sum(found.longest["kernels"]) == found.totals.distinct_kernels
    assert sum(found.longest["share_frac"]) == pytest.approx(1)


def test_the_worked_example_has_one_kernel() -> None:
    rows = list(stats(worked_example(gpu=True)).kernels.rows())
    assert len(rows) == 1
    assert (rows[0]["name"], rows[0]["occurrences"]) == ("ampere_sgemm_s1688", 8)
    assert (rows[0]["total_duration_us"], rows[0]["shmem_bytes"]) == (1200, 16384)


def test_a_profile_without_a_gpu_says_what_is_missing() -> None:
    why = TOOL.available(profile(worked_example()))
    assert why is not None and "GPU" in why.missing and why.record


_KERNELS = st.lists(
    st.tuples(
        st.sampled_from(["gemm_a", "relu_b", "ncclAllReduce", "x"]),
        st.integers(0, 2),
        st.integers(1, 3),
        st.integers(0, 10_000),
        st.sampled_from(["", "a/MatMul:MatMul", "b/Relu:Relu"]),
    ),
    min_size=1,
    max_size=40,
)


@given(_KERNELS)
def test_no_time_is_lost_in_any_grouping(drawn: list[tuple[str, int, int, int, str]]) -> None:
    planes = [
        gpu(
            device,
            stream(
                7,
                *(
                    kernel(name, 100 * i, duration, op, launch(grid=grid))
                    for i, (name, on, grid, duration, op) in enumerate(drawn)
                    if on == device
                ),
            ),
        )
        for device in range(3)
    ]
    opened = profile(space(*planes))
    whole = sum(duration for *_rest, duration, _op in drawn)
    for group_by in ("kernel", "op", "class", "name"):
        found = kernel_stats(opened, Options(group_by=group_by))
        for table in (found.kernels, found.by_class, found.by_device, found.longest):
            assert sum(table["total_duration_us"]) == pytest.approx(whole)
        assert sum(found.kernels["occurrences"]) == len(drawn)
        assert all(
            row["min_duration_us"] <= row["avg_duration_us"] + 1e-9 <= row["max_duration_us"] + 2e-9
            for row in found.kernels.rows()
        )


def test_a_tpu_runs_ops_not_kernels() -> None:
    ran = plane("/device:TPU:0", line("XLA Ops", Event("fusion.1", 0, 10)))
    why = TOOL.available(profile(space(ran)))
    assert why is not None and "TPU" in why.missing and "hlo_stats" in why.record
