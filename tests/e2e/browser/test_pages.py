"""Every page: loads, says what it must, behaves under the policy, and is accessible."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from stepscope.analysis import TOOLS
from stepscope.surfaces.http import Server, Settings
from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import Opener, Watch
from tests.profiles.ready import HOSTILE_NAMES

PAGES = (
    "#/overview?run=gpu",
    "#/overview?run=cpu",
    "#/op_stats?run=gpu",
    "#/op_stats?run=cpu&group_by=type",
    "#/about?run=gpu",
    "#/no_such_page?run=gpu",
)


@pytest.mark.parametrize("address", PAGES)
def test_a_page_shows_a_heading_and_keeps_to_its_origin(
    open_page: Opener, watch: Watch, address: str
) -> None:
    page = open_page(address)
    page.wait_for_load_state("networkidle")
    assert page.locator("main h1").count() == 1
    assert any("/api/v1/session" in url for url in watch.requests)


@pytest.mark.parametrize("tool", [tool.id for tool in TOOLS])
@pytest.mark.parametrize("run", ["gpu", "cpu"])
def test_every_tool_has_a_page_or_a_reason(open_page: Opener, tool: str, run: str) -> None:
    page = open_page(f"#/{tool}?run={run}")
    page.wait_for_load_state("networkidle")
    assert "could not be drawn" not in page.locator("main").inner_text()
    reason = page.locator(".notice .hint")
    if page.locator('.tabs a.unavailable[aria-current="page"]').count() == 1:
        expect(reason).not_to_be_empty()
    else:
        expect(reason).to_have_count(0)


def test_the_overview_answers_first(open_page: Opener) -> None:
    page = open_page("#/overview?run=gpu")
    figures = page.locator(".figures > div")
    expect(figures).to_have_count(5)
    assert "900 µs" in figures.nth(0).inner_text()
    assert "20.0%" in figures.nth(3).inner_text(), "device busy 180 of 900 µs"
    card = page.get_by_role("region", name="Fix first")
    expect(card).to_have_attribute("aria-busy", "false")
    headings = page.locator("main h2").all_inner_texts()
    assert headings[0] == card.locator("h2").inner_text()
    assert headings[1:5] == ["Average step", "Step times", "What to do", "This run"]


@pytest.mark.parametrize("run", ["gpu", "cpu"])
def test_the_first_screen_says_what_limits_and_what_to_do(open_page: Opener, run: str) -> None:
    page = open_page(f"#/overview?run={run}")
    page.set_viewport_size({"width": 1280, "height": 720})
    card = page.get_by_role("region", name="Fix first")
    expect(card).to_have_attribute("aria-busy", "false")
    expect(card).to_contain_text(
        re.compile(r"(saves|could save) .+ \(.+%\)|cannot be estimated|No rule found")
    )
    expect(card).not_to_contain_text("sure")
    for part in (page.locator(".verdict h1"), card, page.locator(".stack-bar").first):
        box = part.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 720, "below the fold"


def test_a_step_shows_its_details_and_its_place(open_page: Opener) -> None:
    page = open_page("#/overview?run=gpu")
    box = page.locator(".step-chart").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    drawer = page.get_by_role("region", name="Selected row")
    drawer.get_by_role("link", name="Show in timeline").click()
    expect(page.locator(".tl-measured")).to_be_visible()
    assert "tl.range=" in page.url


def test_a_row_leads_to_its_events_in_the_timeline(open_page: Opener) -> None:
    page = open_page("#/kernel_stats?run=gpu")
    row = page.get_by_role("grid", name="Kernels").get_by_role("row").nth(1)
    row.click()
    drawer = page.get_by_role("region", name="Selected row")
    box = drawer.bounding_box()
    assert box is not None
    assert box["y"] < 200, "beside the table, not below it"
    link = drawer.get_by_role("link", name="Show in timeline")
    expect(link).to_be_visible()
    expect(drawer).to_contain_text("How often")
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    row.click()
    link.click()
    expect(page.locator(".tl-event")).to_contain_text("events with this name")


def test_no_number_stands_without_a_unit(open_page: Opener) -> None:
    page = open_page("#/overview?run=gpu")
    for text in page.locator(".legend-value, .legend-share, .axis text").all_text_contents():
        bare = re.fullmatch(r"[\d.,]+", text)
        # Step numbers and the zero of an axis have none.
        assert not bare or "." not in text, text


def test_parts_of_the_average_step_sum_to_the_step(open_page: Opener) -> None:
    page = open_page("#/overview?run=gpu")
    shares = page.locator(".legend-share").all_inner_texts()
    total = sum(float(share.strip("<%")) for share in shares)
    assert total == pytest.approx(100, abs=0.2 * len(shares))


def test_a_profile_without_accelerator_says_so(open_page: Opener) -> None:
    page = open_page("#/overview?run=cpu")
    expect(page.locator(".figures")).to_contain_text("no accelerator in this profile")
    page = open_page("#/work?run=cpu&where=device")
    expect(page.locator(".answer")).to_contain_text("Nothing of this kind was recorded.")


def test_a_tool_without_data_is_listed_with_its_reason(open_page: Opener) -> None:
    page = open_page("#/overview?run=cpu")
    page.get_by_role("button", name="By tool").click()
    dimmed = page.locator(".by-tool a.unavailable")
    if dimmed.count() == 0:
        pytest.skip("every registered tool has something to show for a CPU profile")
    assert "Nothing to show: " in (dimmed.first.get_attribute("title") or "")
    dimmed.first.click()
    expect(page.locator(".notice h3")).to_have_text("What to do")
    expect(page.locator(".hint")).not_to_be_empty()


def test_a_damaged_file_says_where_and_what_still_holds(open_page: Opener) -> None:
    page = open_page("#/overview?run=damaged")
    expect(page.locator(".completeness .mark")).to_have_text("damaged")
    expect(page.locator(".completeness")).to_contain_text("byte")
    page = open_page("#/about?run=damaged")
    rows = page.locator(".plain-table tr")
    expect(rows.filter(has_text="damaged/host.xplane.pb")).to_contain_text("partly opened")
    expect(rows.filter(has_text="gpu/empty.xplane.pb").locator("td").last).not_to_be_empty()


def test_names_are_text_and_nothing_else(open_page: Opener, page: Page) -> None:
    def rename(route: Route) -> None:
        body = route.fetch().json()
        for field in ("operation", "type"):
            cells = body["ops"]["columns"][field]
            cells[:] = [HOSTILE_NAMES[i % len(HOSTILE_NAMES)] for i in range(len(cells))]
        route.fulfill(json=body)

    # Which of these names count as ops is not the question here; how any name is drawn is.
    page.route("**/api/v1/tool/framework_op_stats*", rename)
    open_page("#/op_stats?run=gpu")
    expect(page.locator(".grid").first).to_contain_text("<script>alert(1)</script>")
    assert page.locator("main script, main img").count() == 0
    shown = page.locator("main").inner_text()
    assert "\u202e" not in shown and "\x1b" not in shown
    open_page("#/overview?run=hostile")
    expect(page.locator(".header")).to_contain_text("<b>host")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", [page for page in PAGES if "run=cpu" in page])
def test_axe_finds_nothing(page: Page, open_page: Opener, address: str, scheme: str) -> None:
    """The pages of a run with a GPU: test_every_page.py."""
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    open_page(address)
    page.wait_for_load_state("networkidle")
    assert violations(page) == []


def test_pages_work_below_a_path_prefix(page: Page, recordings: Path, server: Server) -> None:
    with Server(str(recordings), Settings(port=0, prefix="/some/where")) as below:
        strays: list[str] = []
        page.on(
            "request",
            lambda request: (
                strays.append(request.url) if "/some/where" not in request.url else None
            ),
        )
        page.goto(below.url)
        page.locator(".figures").wait_for(timeout=20_000)
        assert strays == []


def test_without_the_token_the_page_explains(page: Page, server: Server) -> None:
    page.goto(f"http://127.0.0.1:{server.port}/#/kernels?run=gpu")
    expect(page.locator("body")).to_contain_text("The terminal that runs stepscope serve shows")
    assert page.evaluate("getComputedStyle(document.body).maxWidth") == "640px"
    assert violations(page) == []
    page.get_by_label("Token").fill(server.url.partition("token=")[2])
    page.get_by_role("button", name="Open").click()
    page.locator("main h1").wait_for()


def test_one_worker_is_a_bar_and_no_chart_of_one_column(open_page: Opener) -> None:
    page = open_page("#/pod_viewer?run=gpu&host=worker-0")
    expect(page.locator("h2", has_text="on 1 worker").first).to_be_visible()
    expect(page.get_by_role("img", name="The step of the worker")).to_be_visible()
    expect(page.get_by_role("group", name=re.compile("Step times of 1 worker"))).to_have_count(0)
