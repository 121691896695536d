"""The page that compares runs: its answer, its charts, its tables, the choice of the baseline."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import Opener
from tests.profiles import HOSTILE_NAMES, no_events, worked_example
from tests.profiles.loops import Collective, Kernel, Loop, record

KERNELS = (
    Kernel("sgemm", 400, "model/dense/MatMul:MatMul"),
    Kernel("relu", 200, "model/act/Relu:Relu"),
    Kernel("hostile", 100, f"{HOSTILE_NAMES[0]}:Mul"),
)
EVEN = Loop(kernels=KERNELS, steps=12, wait="cuStreamSynchronize", collective=Collective(us=300))
RUNS = {
    "2026_01_01_00_00_00": [EVEN, EVEN],
    "2026_01_02_00_00_00": [replace(EVEN, input_us=1000)] * 2,
    "2026_01_03_00_00_00": [EVEN, replace(EVEN, slower={0: 3.0})],
}
ADDRESS = "#/compare?run=2026_01_02_00_00_00&baseline=2026_01_01_00_00_00"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server over three runs of two hosts."""
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    root = tmp_path_factory.mktemp("runs")
    for day, (name, loops) in enumerate(RUNS.items()):
        folder = root / "plugins" / "profile" / name
        folder.mkdir(parents=True)
        for host, data in record(*loops).items():
            path = folder / f"{host}.xplane.pb"
            path.write_bytes(data)
            os.utime(path, (1_700_000_000 + day * 86_400,) * 2)
    with Server(str(root), Settings(port=0)) as running:
        yield running


def test_the_answer_stands_first_and_in_figures(open_page: Opener) -> None:
    page = open_page(ADDRESS)
    verdict = page.locator(".verdict h2")
    expect(verdict).to_contain_text("slower: ")
    expect(verdict).to_contain_text("waiting for input +1.00 ms")
    figures = page.locator(".figures > div").all_inner_texts()
    assert any("+1.00 ms" in figure for figure in figures)
    assert any("more than noise" in figure for figure in figures)


def test_charts_lead_from_one_step_to_the_other(open_page: Opener) -> None:
    page = open_page(ADDRESS)
    chart = page.locator(".waterfall").nth(1)
    expect(chart.locator("g.total")).to_have_count(2)
    expect(chart.locator("g.grew")).to_have_count(1)
    label = chart.get_attribute("aria-label") or ""
    assert "waiting for input +1.00 ms" in label


def test_a_chart_is_saved_as_a_file(open_page: Opener, tmp_path: Path) -> None:
    page = open_page(ADDRESS)
    page.get_by_role("button", name="Save chart “What changed”").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG drawing").click()
    target = tmp_path / "chart.svg"
    saved.value.save_as(target)
    assert "waiting for input" in target.read_text("utf-8")


def test_parts_are_filtered_and_exported(open_page: Opener) -> None:
    page = open_page(ADDRESS)
    parts = page.get_by_role("grid", name="What changed")
    expect(parts).to_contain_text("model/dense/MatMul")
    page.locator(".compare section").filter(has=parts).get_by_placeholder("Filter").first.fill(
        "dense"
    )
    expect(parts).not_to_contain_text("model/act/Relu")
    expect(parts).to_contain_text("model/dense/MatMul")
    assert "parts." in page.url


def test_the_run_before_is_the_baseline_until_another_is_chosen(open_page: Opener) -> None:
    page = open_page("#/compare?run=2026_01_03_00_00_00")
    expect(page.locator(".verdict")).to_contain_text("2026_01_02_00_00_00")
    page.get_by_role("button", name="Compared with: 2026_01_02_00_00_00. Choose another").click()
    page.get_by_role("option", name="2026_01_01_00_00_00").click()
    expect(page.locator(".verdict h2")).to_contain_text("waiting for the slowest worker (host-1)")
    assert "baseline=2026_01_01_00_00_00" in page.url
    expect(page.get_by_role("grid", name="Workers")).to_contain_text("host-1")
    expect(page.get_by_role("grid", name="For the worker the others wait for")).to_contain_text(
        "slower"
    )


def test_sides_are_swapped_and_swapped_back(open_page: Opener) -> None:
    page = open_page(ADDRESS)
    expect(page.locator(".figures")).to_contain_text("+1.00 ms")
    page.get_by_role("link", name="Swap sides").click()
    expect(page.locator(".figures")).to_contain_text("−1.00 ms")
    assert "run=2026_01_01_00_00_00" in page.url and "baseline=2026_01_02_00_00_00" in page.url
    page.get_by_role("link", name="Swap sides").click()
    expect(page.locator(".figures")).to_contain_text("+1.00 ms")


def test_all_runs_are_one_course_and_each_can_be_compared_with(open_page: Opener) -> None:
    page = open_page("#/compare?run=2026_01_03_00_00_00")
    page.get_by_role("button", name="All runs").click()
    assert "baseline=2026_01_01_00_00_00" in page.url and "between=true" in page.url
    chart = page.get_by_role("group", name="Step time of 3 runs")
    expect(chart.locator("circle.dot")).to_have_count(3)
    chart.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(chart).to_contain_text("Change from the first run")
    expect(chart).to_contain_text("+1.00 ms")
    page.get_by_role("button", name="Show as table").click()
    table = page.get_by_role("grid", name="Runs")
    expect(table).to_contain_text("2026_01_02_00_00_00")
    # Step times of runs, and changes to the first, do not add up to anything.
    expect(table.get_by_text("Sum", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Show as chart").click()
    chart.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".verdict")).to_contain_text("2026_01_02_00_00_00")
    # None was recorded between the second and the third: all are one click away again.
    expect(page.locator("main")).to_contain_text("There are 3 runs here.")
    page.get_by_role("button", name="All runs").click()
    expect(chart.locator("circle.dot")).to_have_count(3)


def test_the_oldest_run_has_a_course_to_the_newest(open_page: Opener) -> None:
    page = open_page("#/compare?run=2026_01_01_00_00_00")
    page.get_by_role("button", name="All runs").click()
    assert "baseline=2026_01_03_00_00_00" in page.url and "between=true" in page.url
    chart = page.get_by_role("group", name="Step time of 3 runs")
    expect(chart.locator("circle.dot")).to_have_count(3)
    page.reload()
    expect(chart.locator("circle.dot")).to_have_count(3)


def test_between_two_neighbours_no_course_is_offered(open_page: Opener) -> None:
    page = open_page("#/compare?run=2026_01_02_00_00_00")
    expect(page.locator("main")).to_contain_text("Compare with the oldest or the newest")
    expect(page.get_by_role("button", name="All runs")).to_have_count(0)


def test_more_starts_of_a_side_make_their_spread_the_noise(open_page: Opener) -> None:
    page = open_page("#/compare?run=2026_01_02_00_00_00&baseline=2026_01_01_00_00_00")
    page.get_by_role("button", name="More starts").click()
    page.get_by_label("2026_01_03_00_00_00").select_option("a start of the baseline")
    expect(page.locator(".verdict h2")).to_contain_text("over 2 starts before and 1 after")
    page.keyboard.press("Escape")
    figures = page.locator(".figures > div")
    expect(figures.filter(has_text="Step before")).to_contain_text("mean of 2 starts")
    expect(figures.filter(has_text="99% interval")).to_contain_text("one start on a side")
    table = page.get_by_role("grid", name="Starts")
    expect(table).to_contain_text("2026_01_03_00_00_00")
    assert "baseline_starts=2026_01_03_00_00_00" in page.url
    assert violations(page) == []


def test_names_from_a_recording_are_text(open_page: Opener) -> None:
    page = open_page("#/compare?run=2026_01_03_00_00_00&baseline=2026_01_01_00_00_00")
    slowest = page.get_by_role("grid", name="For the worker the others wait for")
    expect(slowest).to_contain_text("<script>")
    assert page.locator("main script").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(open_page: Opener, scheme: str) -> None:
    page = open_page("#/compare?run=2026_01_03_00_00_00&baseline=2026_01_01_00_00_00&between=true")
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of the two literals
    page.locator(".waterfall").first.wait_for()
    page.locator("circle.dot").first.wait_for()
    assert violations(page) == []


def test_the_page_fits_a_narrow_window(open_page: Opener) -> None:
    page = open_page(ADDRESS)
    page.set_viewport_size({"width": 800, "height": 900})
    page.locator(".waterfall").first.wait_for()
    # Drawings take their new width a frame after the window has it.
    page.wait_for_function("() => document.documentElement.scrollWidth <= window.innerWidth")


@pytest.fixture
def two_kinds(tmp_path: Path) -> Iterator[Server]:
    """Runs of other hardware, and one without steps."""
    files = {
        "2026_02_01_00_00_00": worked_example(gpu=False),
        "2026_02_02_00_00_00": worked_example(gpu=True),
        "2026_02_03_00_00_00": no_events(),
    }
    for day, (name, data) in enumerate(files.items()):
        path = tmp_path / "plugins" / "profile" / name / "host.xplane.pb"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        os.utime(path, (1_700_000_000 + day * 86_400,) * 2)
    with Server(str(tmp_path), Settings(port=0)) as running:
        yield running


def test_other_hardware_is_asked_about(page: Page, two_kinds: Server) -> None:
    page.goto(two_kinds.url)
    root = f"http://127.0.0.1:{two_kinds.port}/"
    page.goto(f"{root}#/compare?run=2026_02_02_00_00_00")
    expect(page.locator(".notice")).to_contain_text("other hardware")
    expect(page.locator("main")).not_to_contain_text("slower")
    page.get_by_role("button", name="Compare anyway").click()
    expect(page.locator(".verdict h2")).to_be_visible()
    assert "baseline=2026_02_01_00_00_00" in page.url


def test_the_runs_to_compare_with_say_what_they_ran_on(page: Page, two_kinds: Server) -> None:
    page.goto(two_kinds.url)
    root = f"http://127.0.0.1:{two_kinds.port}/"
    page.goto(f"{root}#/compare?run=2026_02_02_00_00_00")
    row = page.locator(".candidates tbody tr").filter(has_text="2026_02_01_00_00_00")
    expect(row).to_contain_text(re.compile(r"[\d.]+ (ms|µs)"))
    row.get_by_role("button").click()
    expect(page.locator(".verdict h2")).to_be_visible()
    assert "baseline=2026_02_01_00_00_00" in page.url


def test_the_picker_stays_where_a_comparison_fails(page: Page, two_kinds: Server) -> None:
    errors: list[str] = []
    page.on(
        "console", lambda message: errors.append(message.text) if message.type == "error" else None
    )
    page.goto(two_kinds.url)
    root = f"http://127.0.0.1:{two_kinds.port}/"
    page.goto(f"{root}#/compare?run=2026_02_02_00_00_00&baseline=2026_02_03_00_00_00")
    picker = page.get_by_role("button", name="Compared with: 2026_02_03_00_00_00. Choose another")
    expect(picker).to_be_visible(timeout=20_000)
    picker.click()
    page.get_by_role("option", name="2026_02_01_00_00_00").click()
    expect(page.locator(".verdict h2")).to_be_visible()
    assert errors == [], "a state that the page foresees is not an error"
