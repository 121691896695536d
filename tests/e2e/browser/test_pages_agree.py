"""Pages agree with each other about one recording; where they cannot, they say what they are of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from stepscope.analysis import TOOLS
from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.e2e.browser.conftest import Opener
from tests.e2e.browser.tool_recordings import compiled, pipeline
from tests.profiles import gpu, host, line, space, stream, worked_example
from tests.profiles.model import EventLike

# A kernel of half of each step of 1 ms, the launch before it, and twelve steps of them.
_STEPS = range(12)
_EIGEN = (
    "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::"
    "TensorMap<Eigen::Tensor<Eigen::half, 1, 1, long>, 16, Eigen::MakePointer>, Eigen::"
    "TensorConversionOp<Eigen::half, Eigen::TensorMap<Eigen::Tensor<float const, 1, 1, long>, "
    "16, Eigen::MakePointer> const> const> const, Eigen::GpuDevice>, long>(int)"
)


def one_busy_device() -> bytes:
    """Three devices: one works in each step, one recorded nothing, one ran after the last step."""
    main: list[EventLike] = []
    kernels: list[EventLike] = []
    for step in _STEPS:
        begin = 1000.0 * step
        main += [
            ("train", begin, 980.0, {"step_num": step, "_r": 1}),
            ("cuLaunchKernel", begin + 100, 10.0, {"correlation_id": step}),
        ]
        kernels.append((_EIGEN, begin + 120, 500.0, {"correlation_id": step}))
    late = gpu(2, stream(7, ("sgemm", 12_100.0, 10.0)))
    return space(host(line("python", *main)), gpu(0, stream(7, *kernels)), gpu(1), late)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server over recordings that pages could tell different things of."""
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    root: Path = tmp_path_factory.mktemp("agree")
    files = {
        "busy": one_busy_device(),
        "cpu": worked_example(gpu=False, steps=40),
        "compiled": compiled(),
        "pipeline": pipeline(),
    }
    for name, content in files.items():
        folder = root / "plugins" / "profile" / name
        folder.mkdir(parents=True)
        (folder / "host.xplane.pb").write_bytes(content)
    with Server(str(root), Settings(port=0)) as running:
        yield running


def section(page: Page, heading: str) -> str:
    """The text of the section with a heading."""
    return (
        page.locator("section")
        .filter(has=page.get_by_role("heading", name=heading))
        .first.inner_text()
    )


def test_a_device_without_events_is_counted_and_named_alike(open_page: Opener) -> None:
    page = open_page("#/overview?run=busy")
    run = section(page, "This run")
    assert re.search(r"2 × NVIDIA GPU \(Ampere\)\s+that recorded events", run)
    assert "1 of 3 devices recorded no events" in run
    assert page.locator("main").inner_text().count("1 of 3 devices recorded no events") == 1
    assert "Completeness: complete" not in run
    open_page("#/device_idle?run=busy")
    assert "those that ran anything in that time" in section(page, "Devices")
    open_page("#/pod_viewer?run=busy")
    expect(page.locator("main")).to_contain_text(re.compile(r"[Ll]eft out.*GPU:2"))


def test_workers_say_why_their_parts_are_not_those_of_the_overview(open_page: Opener) -> None:
    page = open_page("#/pod_viewer?run=busy")
    said = page.locator("section").filter(has=page.get_by_role("grid", name="Workers"))
    expect(said.first).to_contain_text("each device by itself: the Overview counts time in")


def test_a_share_of_waiting_names_what_it_is_of(open_page: Opener) -> None:
    page = open_page("#/tf_data_bottleneck_analysis?run=pipeline")
    tiles = page.locator(".figures > *")
    expect(tiles.filter(has_text="of time between calls")).to_contain_text("37.5%")
    row = page.get_by_role("grid", name="Input pipelines").get_by_role("row").nth(1)
    expect(row).to_contain_text("time between calls")


@pytest.mark.parametrize("run", ["busy", "cpu"])
def test_advice_calls_pages_by_their_names(open_page: Opener, run: str) -> None:
    page = open_page(f"#/overview?run={run}")
    advice = page.locator("section").filter(has=page.get_by_role("heading", name="What to do"))
    expect(advice.locator("article, li").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    for opener in advice.locator("summary").all():
        opener.click()
    said = advice.inner_text()
    assert [tool.id for tool in TOOLS if "_" in tool.id and tool.id in said] == []
    assert not re.search(r"\b[a-z]+(_[a-z]+)*\.[a-z]+_[a-z]+\b", said), "names of fields"


def test_kernels_are_counted_as_they_are_listed(open_page: Opener) -> None:
    page = open_page("#/kernel_stats?run=busy")
    fact = page.locator(".facts > *").filter(has_text="Distinct kernels")
    expect(fact).to_contain_text("1")
    expect(page.locator(".grid-count").first).to_contain_text("1 row")
    row = page.get_by_role("grid", name="Kernels").get_by_role("row").nth(1)
    expect(row).to_contain_text("convert<float→half>")
    row.click()
    expect(page.get_by_role("region", name="Selected row")).to_contain_text("EigenMetaKernel")


def test_a_peak_is_reached_at_one_instruction(open_page: Opener) -> None:
    page = open_page("#/memory_viewer?run=compiled")
    headline = page.locator(".answer h2").inner_text()
    at = re.search(r"reached at (\S+)\.$", headline)
    assert at
    assert f"reached at {at[1]}" in section(page, "At the peak")


def test_the_list_of_pages_leads_back_to_the_view_that_was_left(open_page: Opener) -> None:
    page = open_page("#/trace_viewer?run=busy&tl.view=2000000000~4000000000&tl.marks=2500000000")
    page.locator(".tl-progress.idle").wait_for()
    page.locator(".tl-stage").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => !location.hash.includes('tl.view=2000000000~4000000000')")
    page.wait_for_timeout(400)
    left = page.url
    views = page.get_by_role("navigation", name="Views")
    views.get_by_role("link", name="Work").click()
    page.get_by_role("navigation", name="Work").get_by_role("link", name="Kernels").click()
    expect(page.locator("main h1")).to_have_text("Kernels")
    views.get_by_role("link", name="Timeline").click()
    page.locator(".tl-progress.idle").wait_for()
    assert page.url == left


def test_an_interval_is_a_time_and_nothing_else(open_page: Opener) -> None:
    page = open_page("#/trace_viewer?run=busy&tl.marks=2000000000,7370000000")
    marks = page.locator(".tl-marks")
    expect(marks).to_have_text("Between marks: 5.37 ms Remove")


def test_steps_that_do_not_count_are_drawn_paler(open_page: Opener) -> None:
    page = open_page("#/overview?run=busy")
    expect(page.locator(".step-chart")).to_be_visible()
    expect(page.locator(".step-uncounted rect")).to_have_count(2)
    assert "pale steps are not counted" in section(page, "Step times")


def test_looking_closer_at_a_slice_moves_nothing_below(open_page: Opener) -> None:
    page = open_page("#/op_profile?run=compiled")
    tree = page.get_by_role("heading", name="Nodes", exact=True)
    before = tree.bounding_box()
    assert before is not None
    slices = page.locator(".icicle .slice")
    slices.nth(1).click()
    page.wait_for_function("() => location.hash.includes('view.')")
    page.get_by_role("button", name=re.compile("^Up from")).click()
    slices.last.click()
    page.wait_for_timeout(200)
    after = tree.bounding_box()
    assert after is not None
    assert after["y"] == pytest.approx(before["y"], abs=1)
