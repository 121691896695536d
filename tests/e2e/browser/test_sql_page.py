"""The SQL page: a question, its answer as chart and table, the way to the timeline, refusals."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import Opener


def test_a_query_is_run_kept_in_the_address_and_leads_to_the_timeline(open_page: Opener) -> None:
    page = open_page("#/sql?run=gpu")
    page.get_by_label("Query", exact=True).fill(
        "SELECT name, start_us, duration_us, event FROM kernels ORDER BY start_us LIMIT 5"
    )
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status").first).to_contain_text("5 rows")
    assert "q=SELECT+name" in page.url
    page.locator('.grid-rows [role="row"]').first.click()
    page.get_by_role("link", name="Show this event").click()
    expect(page.locator(".tl-event")).to_contain_text("ampere_sgemm")


def test_an_example_runs_and_an_answer_is_drawn(open_page: Opener) -> None:
    page = open_page("#/sql?run=gpu")
    page.get_by_role("button", name="Which kernels take the most time?").click()
    expect(page.locator(".grid-rows")).to_contain_text("ampere_sgemm")
    # With an answer on the page they are in a menu.
    page.get_by_role("button", name="Examples").click()
    expect(page.get_by_role("button", name="Which kernels")).to_have_count(1)
    page.keyboard.press("Escape")
    page.get_by_label("Query", exact=True).fill(
        "SELECT name, sum(duration_us) AS total_us FROM events GROUP BY name ORDER BY total_us DESC"
    )
    page.get_by_role("button", name="Run Ctrl Enter").click()
    expect(page.locator("svg.top-bars")).to_be_visible()
    assert violations(page) == []


def test_queries_are_kept_by_name(open_page: Opener) -> None:
    page = open_page("#/sql?run=gpu&q=" + quote("SELECT 1 AS n"))
    page.get_by_role("button", name=re.compile("Saved queries")).click()
    page.get_by_label("Name of the query").fill("mine")
    page.keyboard.press("Enter")
    page.reload()
    page.get_by_role("button", name=re.compile("Saved queries")).click()
    expect(page.get_by_role("button", name="mine", exact=True)).to_be_visible()


@pytest.mark.parametrize(
    "query", ["SELECT * FROM read_csv('/etc/passwd')", "SELECT nope FROM steps"]
)
def test_a_query_from_a_link_that_is_not_run_says_why(open_page: Opener, query: str) -> None:
    page = open_page("#/sql?run=gpu&q=" + quote(query))
    expect(page.locator(".notice")).to_contain_text("query")
    expect(page.get_by_label("Query", exact=True)).to_have_value(query)


def test_a_track_says_when_its_rows_need_more_lanes_than_it_has(open_page: Opener) -> None:
    """Nine that begin at once lie within each other: the ninth lane is not drawn."""
    query = "SELECT name, 1000.0 AS start_us, duration_us FROM events LIMIT 9"
    page = open_page("#/sql?run=gpu&q=" + quote(query))
    page.get_by_role("link", name="Show as track").click()
    expect(page.locator(".tl-query")).to_contain_text("9 rows, 8 of 9 lanes drawn")


def test_an_answer_with_times_is_a_track_of_the_timeline(open_page: Opener) -> None:
    page = open_page("#/sql?run=gpu")
    page.get_by_label("Query", exact=True).fill(
        "SELECT name, start_us, duration_us, event FROM kernels ORDER BY start_us LIMIT 5"
    )
    page.keyboard.press("Control+Enter")
    page.get_by_role("link", name="Show as track").click()
    lane = page.locator(".tl-query")
    expect(lane.get_by_role("status")).to_have_text("5 rows")
    rows = lane.get_by_role("group")
    rows.focus()
    page.keyboard.press("ArrowRight")
    expect(lane.locator(".tl-card")).to_contain_text("ampere_sgemm")
    expect(page.locator(".tl-event")).to_contain_text("ampere_sgemm")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('tl.event=')")
    # The second row is drawn where the pointer finds it.
    canvas = lane.locator("canvas")
    box = canvas.bounding_box()
    card = lane.locator(".tl-card")
    assert box is not None
    expect(card).to_be_visible()
    second = card.inner_text()
    rows.blur()
    expect(card).to_have_count(0)
    for x in range(0, int(box["width"]), 4):
        page.mouse.move(box["x"] + x, box["y"] + 8)
        if card.count() and card.inner_text() == second:
            break
    else:
        raise AssertionError("the row is not drawn")
    assert violations(page) == []
    page.reload()
    expect(lane.get_by_role("status")).to_have_text("5 rows")
    lane.get_by_role("button", name="Close").click()
    expect(lane).to_have_count(0)
    assert "query=" not in page.url


def test_a_track_of_a_query_without_times_says_why(open_page: Opener) -> None:
    page = open_page("#/timeline?run=gpu&query=" + quote("SELECT name FROM kernels"))
    expect(page.locator(".tl-query").get_by_role("status")).to_contain_text("no times to draw")
