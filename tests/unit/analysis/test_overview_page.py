"""The overview's numbers on profiles of known structure."""

import json
from pathlib import Path

import pytest

import stepscope
from stepscope.analysis.overview_page import OverviewPage, overview_page
from stepscope.comparison import side_of
from stepscope.errors import NothingToShow
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import worked_example
from tests.profiles.model import Event, gpu, host, line, space, stream


def overview(data: bytes) -> OverviewPage:
    return overview_page(Profile("s", (Host("h", decode(data)),)))


def test_the_worked_example_on_the_gpu() -> None:
    page = overview(worked_example(gpu=True))
    assert page.steps.count == 6
    assert page.steps.dropped == 2
    assert page.steps.source == "markers"
    assert page.steps.time_ms.mean == pytest.approx(0.9)
    assert page.breakdown_ms["input"] == pytest.approx(0.2)
    assert page.breakdown_ms["host_to_device"] == pytest.approx(0.03)
    assert page.breakdown_ms["device_compute_32"] == pytest.approx(0.15)
    assert sum(page.breakdown_ms.values()) == pytest.approx(page.steps.time_ms.mean)
    assert page.device.busy_frac == pytest.approx(0.2)
    assert page.device.idle_frac == pytest.approx(0.8)
    assert page.bound_by == "input"
    assert "input" in page.headline.lower()
    assert page.precision.bits_32_frac == 1.0
    assert page.environment.device_type == "NVIDIA GPU (Ampere)"
    assert page.completeness.verdict == "complete"


def test_top_ops_of_the_gpu() -> None:
    top = list(overview(worked_example(gpu=True)).top_ops.rows())
    assert [row["type"] for row in top] == ["MatMul", "MemcpyHToD"]
    assert top[0]["self_time_frac"] == pytest.approx(150 / 180)
    assert top[0]["cumulative_frac"] + top[1]["self_time_frac"] == pytest.approx(1.0)
    assert top[0]["tensor_core_eligible"]
    assert top[0]["tensor_core_used"]


def test_top_ops_of_the_cpu_are_the_hosts() -> None:
    page = overview(worked_example())
    assert [row["operation"] for row in page.top_ops.rows()] == [
        "model/dense/MatMul",
        "model/ein/mul",
    ]
    assert page.environment.device_type == "CPU"
    assert page.device.busy_frac is None
    assert page.bound_by == "input"


def test_without_steps_the_page_says_so_and_still_answers() -> None:
    page = overview(space(host(line("python", ("a/MatMul:MatMul", 0, 10)))))
    assert (page.steps.source, page.steps.count) == ("window", 1)
    assert page.steps.certainty == "uncertain"
    assert page.steps.time_ms.mean == pytest.approx(0.01)
    assert page.breakdown_ms["host_compute"] == pytest.approx(0.01)
    assert "of the 10 µs recorded" in page.headline
    assert len(page.top_ops) == 1
    assert any(one.slug == "no-steps" for one in page.diagnostics)


def test_an_empty_profile_gives_an_empty_page() -> None:
    page = overview(space(host()))
    assert page.bound_by == "unknown"
    assert len(page.top_ops) == len(page.step_table) == 0
    assert (page.steps.source, page.steps.count) == ("none", 0)
    # What was not recorded is not 0.
    assert set(page.to_dict()["breakdown_ms"].values()) == {None}


def test_kernels_lost_by_the_recorder_are_said() -> None:
    launches = [Event("cuLaunchKernel", 10 * i, 2, {"correlation_id": i}) for i in range(100)]
    kernels = [Event("k", 10 * i + 5, 2, {"correlation_id": i}) for i in range(95)]
    page = overview(space(host(line("python", *launches)), gpu(0, stream(7, *kernels))))
    assert page.completeness.verdict == "partial"
    assert any("5 of 100 launches" in note for note in page.completeness.notes)


def test_a_note_on_several_hosts_is_said_once() -> None:
    launches = [Event("cuLaunchKernel", 10 * i, 2, {"correlation_id": i}) for i in range(100)]
    kernels = [Event("k", 10 * i + 5, 2, {"correlation_id": i}) for i in range(95)]

    def worker(name: str, count: int) -> Host:
        device = gpu(0, stream(7, *kernels[:count]))
        return Host(name, decode(space(host(line("python", *launches)), device)))

    hosts = worker("a", 95), worker("b", 95), worker("c", 90)
    notes = overview_page(Profile("s", hosts)).completeness.notes
    lost = [note[: note.index(" launches")] for note in notes if " of 100 launches" in note]
    assert lost == ["2 hosts: 5 of 100", "c: 10 of 100"]


def test_low_precision_share() -> None:
    kernels = [
        Event("sm90_xmma_gemm_bf16bf16_bf16f32", 0, 30),
        Event("volta_h884gemm", 30, 30),
        Event("ampere_sgemm_128x64", 60, 40),
    ]
    page = overview(space(host(line("python")), gpu(0, stream(7, *kernels))))
    assert page.precision.bits_16_frac == pytest.approx(0.6)
    assert page.precision.bits_32_frac == pytest.approx(0.4)


def test_steps_without_length_are_said_to_have_none() -> None:
    marks = [Event("train", 0, 0, {"step_num": 0, "_r": 1})]
    page = overview(space(host(line("python", *marks))))
    assert page.bound_by == "unknown"
    assert "zero duration" in page.headline


def test_hosts_that_share_only_a_step_at_the_edge_have_steps_but_none_that_counts() -> None:
    """One was recorded in steps 0 to 9, the other in 9 to 18: step 9 may be cut off on both."""
    hosts = []
    for first in (0, 9):
        marks = [Event("train", 1000 * i, 900, {"step_num": first + i, "_r": 1}) for i in range(10)]
        hosts.append(Host(f"h{first}", decode(space(host(line("python", *marks))))))
    profile = Profile("s", tuple(hosts))
    steps = overview_page(profile).steps
    assert (steps.count, steps.dropped) == (0, 1)
    assert steps.explanation.startswith("Of the steps found, all hosts share only 1,")
    with pytest.raises(NothingToShow) as raised:
        side_of("edge", profile)
    assert raised.value.why == steps.explanation


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("step (/home/u/train.py:10)", "load (/home/u/train.py:3)"),
        ("Trainer.fit (/srv/app/loop.py:88)", "decode (/srv/app/images.py:41)"),
        ("<module> (main.py:1)", "parse (main.py:7)"),
    ],
)
def test_python_calls_alone_name_the_function_that_takes_the_time(
    tmp_path: Path, outer: str, inner: str
) -> None:
    """Files of viztracer hold nothing but calls."""
    calls = [
        {"ph": "X", "pid": 1, "tid": 1, "ts": at, "dur": length, "name": name, "cat": "FEE"}
        for begin in range(0, 100_000, 10_000)
        for name, at, length in ((outer, begin, 9_900), (inner, begin + 100, 7_500))
    ]
    trace = {"traceEvents": calls, "viztracer_metadata": {"version": "1.0"}}
    (tmp_path / "result.json").write_text(json.dumps(trace))
    page = stepscope.open(tmp_path).overview_page()
    function = inner.partition(" ")[0]
    assert page.headline.startswith(f"Only Python calls were recorded: {function} (")
    assert "takes 75 %" in page.headline
    assert page.limited_by == "Python"
