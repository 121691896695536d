"""A small model server whose latencies can be worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.inference_profile import (
    ALL_MODELS,
    NO_MODEL,
    TOOL,
    InferenceProfile,
    Options,
    inference_profile,
)
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import worked_example
from tests.profiles.model import Event, gpu, host, line, space, stream


def profile(*hosts: bytes) -> Profile:
    return Profile("s", tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(hosts)))


def answer(*hosts: bytes, **options: Any) -> InferenceProfile:
    return inference_profile(profile(*hosts), Options(**options))


def batching_server() -> bytes:
    """Three callers; the first two are answered by one batch of 3 + 1 padded, the third alone."""
    callers = []
    for caller, (start, length, size, context) in enumerate(
        [(0, 400, 2, 71), (50, 350, 1, 71), (500, 300, 4, 72)]
    ):
        callers.append(
            line(
                f"caller/{caller}",
                Event("BatchingSessionRun", start, length, {"model_id": "bert:1"}),
                Event("ScheduleWithoutSplit", start + 10, 10, {"batching_input_task_size": size}),
                Event("ScheduleOutputTask", start + 12, 5, {"_pt": 4, "_p": context}),
            )
        )
    batches = line(
        "batch_thread",
        Event("ProcessBatch", 100, 280, {"_ct": 4, "_c": 71}),
        Event("ConcatInputTensors", 110, 5, {"batch_size_after_padding": 4, "padding_amount": 1}),
        Event("SessionRun", 120, 200, {"_r": 1}),
        Event("ProcessBatch", 550, 200, {"_ct": 4, "_c": 72}),
        Event("ConcatInputTensors", 560, 5, {"batch_size_after_padding": 4, "padding_amount": 0}),
    )
    device = stream(
        7,
        Event("MemcpyH2D", 130, 20, {"memcpy_details": "size:4"}),
        Event("gemm", 150, 100, {"kernel_details": "regs:8 grid:1,1,1 block:1,1,1"}),
        Event("gemm", 600, 50, {"kernel_details": "regs:8 grid:1,1,1 block:1,1,1"}),
    )
    return space(host(*callers, batches), gpu(0, device))


def test_requests_find_their_batches() -> None:
    rows = sorted(answer(batching_server()).requests.rows(), key=lambda row: row["start_ms"])
    assert [row["latency_us"] for row in rows] == [400, 350, 300]
    assert [row["batch"] for row in rows] == [0, 0, 1]
    assert [row["size"] for row in rows] == [2, 1, 4]
    # From the end of entering the queue (start + 17) to the begin of the batch.
    assert [row["queued_us"] for row in rows] == [83, 33, 33]
    assert [row["model"] for row in rows] == ["bert:1"] * 3


def test_a_run_inside_a_batch_is_no_request() -> None:
    assert len(answer(batching_server()).requests) == 3


def test_batches_with_their_padding_and_device_time() -> None:
    first, second = answer(batching_server()).batches.rows()
    assert (first["requests"], first["size"], first["padded_size"]) == (2, 3, 4)
    assert (first["latency_us"], first["waited_us"]) == (280, 83)
    assert (first["device_compute_us"], first["host_to_device_us"]) == (100, 20)
    assert first["host_us"] == 280 - 120
    assert (second["requests"], second["size"], second["device_compute_us"]) == (1, 4, 50)


def test_models_with_all_of_them_first() -> None:
    whole, one = answer(batching_server()).models.rows()
    assert (whole["model"], one["model"]) == (ALL_MODELS, "bert:1")
    assert one["latency_mean_us"] == 350
    assert (one["latency_p50_us"], one["latency_max_us"]) == (350, 400)
    assert one["requests_per_s"] == pytest.approx(3 / 800e-6)
    assert one["padding_frac"] == pytest.approx(1 / 8)
    assert (one["batches"], one["batch_requests_mean"]) == (2, 1.5)
    # 400 - 120 device - 83 queue; 350 - 120 - 33; 300 - 50 - 33
    assert one["host_mean_us"] == pytest.approx((197 + 197 + 217) / 3)


def test_batch_sizes() -> None:
    (row,) = answer(batching_server()).batch_sizes.rows()
    assert (row["padded_size"], row["batches"], row["latency_mean_us"]) == (4, 2, 240)
    assert row["latency_per_example_us"] == pytest.approx(480 / 7)


def test_several_hosts_are_one_server() -> None:
    found = answer(batching_server(), batching_server())
    assert len(found.requests) == 6
    assert set(found.requests["batch"]) == {0, 1, 2, 3}
    assert list(found.batches["host"]) == ["h0", "h0", "h1", "h1"]


def test_one_model_can_be_chosen() -> None:
    assert len(answer(batching_server(), model="bert:1").requests) == 3
    none = answer(batching_server(), model="other")
    assert (len(none.requests), len(none.models), len(none.batches)) == (0, 0, 0)


def test_a_server_without_batching_or_model_names() -> None:
    runs = [Event("SessionRun", 100 * i, 10 + i) for i in range(5)]
    nested = Event("SessionRun", 2, 3)
    found = answer(space(host(line("worker", *runs, nested))))
    assert len(found.requests) == 5
    assert set(found.requests["model"]) == {NO_MODEL}
    assert found.requests["batch"] == [None] * 5
    assert len(found.batches) == 0
    assert found.requests["percentile_frac"][0] == 1


def test_no_server_no_answer() -> None:
    why = TOOL.available(profile(worked_example()))
    assert why is not None and "model server" in why.missing
    assert len(answer(worked_example()).requests) == 0


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=200))
def test_percentiles_are_measured_latencies(latencies: list[int]) -> None:
    runs = [Event("TfrtModelRun", 20_000 * i, each) for i, each in enumerate(latencies)]
    row = next(answer(space(host(line("worker", *runs)))).models.rows())
    ordered = sorted(latencies)
    for label, at in {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p999": 0.999}.items():
        # Nearest rank: the smallest latency that at least this share does not exceed.
        wanted = next(v for i, v in enumerate(ordered, 1) if i >= at * len(ordered) - 1e-9)
        assert row[f"latency_{label}_us"] == wanted
    assert row["latency_mean_us"] == pytest.approx(np.mean(latencies))
    assert row["latency_max_us"] == ordered[-1]


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(1, 80)), max_size=12),
    st.lists(st.tuples(st.integers(0, 500), st.integers(1, 200)), min_size=1, max_size=6),
)
def test_device_time_equals_brute_force(
    kernels: list[tuple[int, int]], requests: list[tuple[int, int]]
) -> None:
    streams = [stream(i, Event("gemm", start, length)) for i, (start, length) in enumerate(kernels)]
    callers = [
        line(f"caller/{i}", Event("SessionRun", start, length))
        for i, (start, length) in enumerate(requests)
    ]
    found = answer(space(host(*callers), gpu(0, *streams)))
    busy = {at for start, length in kernels for at in range(start, start + length)}
    wanted = sorted(
        (length, len(busy & set(range(start, start + length)))) for start, length in requests
    )
    rows = found.requests.rows()
    assert sorted((row["latency_us"], row["device_compute_us"]) for row in rows) == wanted
