"""Pages in a narrow window, at 200 % zoom and on paper; nothing moves while they load."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.browser.conftest import Opener

PAGES = (
    "overview",
    "framework_op_stats",
    "kernel_stats",
    "trace_viewer",
    "host_activity",
    "memory_profile",
    "about",
)
MOST_SHIFT = 0.02
WATCH_SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize("address", (*PAGES, "compare", "runs", "sql"))
@pytest.mark.parametrize(("width", "height"), [(390, 800), (720, 450)], ids=["phone", "zoom"])
def test_nothing_is_wider_than_the_window(
    page: Page, open_page: Opener, address: str, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    open_page(f"#/{address}?run=gpu")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 720])
def test_all_views_are_in_sight_in_a_narrow_window(
    page: Page, open_page: Opener, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 450})
    open_page("#/overview?run=gpu")
    views = page.get_by_role("navigation", name="Views").get_by_role("link")
    expect(views).to_have_text(["Answer", "Timeline", "Work", "Memory", "Compare"])
    for at in range(5):
        expect(views.nth(at)).to_be_in_viewport(ratio=1)
    views.nth(2).click()
    page.get_by_role("navigation", name="Work").get_by_role("link", name="Kernels").click()
    expect(page.locator("main h1")).to_have_text("Kernels")


def test_at_200_percent_the_timeline_still_shows_tracks(page: Page, open_page: Opener) -> None:
    page.set_viewport_size({"width": 720, "height": 450})
    open_page("#/trace_viewer?run=gpu")
    box = page.locator(".tl-stage canvas").bounding_box()
    assert box is not None
    assert box["height"] >= 150


@pytest.mark.parametrize("address", ["overview", "host_activity"])
def test_charts_fit_the_paper(page: Page, open_page: Opener, address: str) -> None:
    open_page(f"#/{address}?run=gpu")
    page.wait_for_load_state("networkidle")
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 700, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == "rgb(255, 255, 255)"


def test_the_timeline_is_printed_whole_and_without_controls(page: Page, open_page: Opener) -> None:
    open_page("#/trace_viewer?run=gpu")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER_PX, "height": 900})
    expect(page.locator(".tl-toolbar")).to_be_hidden()
    box = page.locator(".timeline").bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, PAPER_PX)


PAPER_PX = 700
# How far cells reach beyond the table, and the smallest text in it, in pt.
ON_PAPER = """() => [...document.querySelectorAll(".grid")].map((grid) => {
  const cells = [...grid.querySelectorAll('[role="columnheader"], [role="gridcell"]')];
  const right = grid.getBoundingClientRect().right;
  const beyond = cells.map((cell) => cell.getBoundingClientRect().right - right);
  const sizes = cells.map((cell) => parseFloat(getComputedStyle(cell).fontSize) * 0.75);
  return [Math.max(...beyond), Math.min(...sizes) * (cells[0].currentCSSZoom ?? 1)];
})"""


@pytest.mark.parametrize("address", ["framework_op_stats", "op_profile", "kernel_stats"])
def test_tables_are_printed_whole_at_a_readable_size(
    page: Page, open_page: Opener, address: str
) -> None:
    open_page(f"#/{address}?run=gpu")
    page.wait_for_load_state("networkidle")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER_PX, "height": 900})
    found = page.evaluate(ON_PAPER)
    assert len(found) > 0
    assert max(beyond for beyond, _size in found) <= 1
    assert min(size for _beyond, size in found) >= 8


def test_on_a_phone_numbers_follow_the_name(page: Page, open_page: Opener) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    open_page("#/kernel_stats?run=gpu")
    headings = page.get_by_role("grid", name="Kernels").get_by_role("columnheader")
    expect(headings.nth(0)).to_contain_text("Kernel")
    expect(headings.nth(1)).to_contain_text("time")
    headings.nth(0).scroll_into_view_if_needed()
    expect(headings.nth(1)).to_be_in_viewport(ratio=0.9)


def test_on_a_phone_bars_are_left_to_see(page: Page, open_page: Opener) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    open_page("#/device_idle?run=gpu")
    bars = page.locator(".top-bars").first
    frame = bars.bounding_box()
    longest = bars.locator("rect").first.bounding_box()
    assert frame is not None and longest is not None
    assert longest["width"] > 60
    for text in bars.locator("text").all():
        box = text.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1


@pytest.mark.parametrize("width", [1010, 1280])
def test_the_name_of_the_run_is_whole(page: Page, open_page: Opener, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 720})
    open_page("#/overview?run=gpu&host=worker-0")
    name = page.get_by_role("button", name="Run: gpu").locator(".picked-name")
    assert name.evaluate("(it) => it.scrollWidth - it.clientWidth") <= 1


@pytest.mark.parametrize("address", PAGES)
def test_nothing_moves_while_a_page_loads(page: Page, open_page: Opener, address: str) -> None:
    page.add_init_script(WATCH_SHIFTS)
    open_page(f"#/{address}?run=gpu")
    page.reload()
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.shifted") <= MOST_SHIFT


@pytest.mark.only_browser("chromium")  # layout shifts are measured there alone
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1440, 900)])
@pytest.mark.parametrize("run", ["gpu", "cpu"])
def test_nothing_in_sight_moves_as_advice_arrives(
    page: Page, open_page: Opener, run: str, width: int, height: int
) -> None:
    held: list[Route] = []
    page.set_viewport_size({"width": width, "height": height})
    page.add_init_script(WATCH_SHIFTS)
    page.route("**/api/v1/advice*", lambda route: held.append(route))
    open_page(f"#/overview?run={run}")
    page.reload()
    expect(page.locator('.fix-first[aria-busy="true"]')).to_be_visible()
    expect(page.get_by_text("No rule found")).to_have_count(0)
    page.wait_for_timeout(200)
    for route in held:
        route.continue_()
    expect(page.locator('.fix-first[aria-busy="false"]')).to_be_visible()
    page.wait_for_timeout(200)
    assert page.evaluate("window.shifted") <= MOST_SHIFT


def test_findings_that_fail_are_not_called_none(
    page: Page, open_page: Opener, allowed_errors: list[str]
) -> None:
    allowed_errors.append("Failed to load resource")
    page.route("**/api/v1/advice*", lambda route: route.fulfill(status=500, body="{}"))
    open_page("#/overview?run=gpu")
    card = page.get_by_role("region", name="Fix first")
    expect(card).to_contain_text("The findings could not be computed.")
    expect(page.get_by_text("No rule found")).to_have_count(0)


def test_tools_without_data_are_no_groupings(open_page: Opener) -> None:
    page = open_page("#/op_stats?run=cpu")
    tabs = page.get_by_role("navigation", name="Work")
    expect(tabs.locator('a[aria-current="true"]')).to_have_text("Table")
    groupings = tabs.locator(".groupings a")
    expect(groupings.first).to_have_text("Framework Ops")
    expect(tabs.locator(".groupings a.unavailable")).to_have_count(0)
    assert "Kernels" not in groupings.all_inner_texts()
