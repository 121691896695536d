"""The flame of a range: drawn, grouped, inverted, compared, and kept in the address."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import Opener

RANGE = "tl.range=0~20000000000"


def test_a_range_becomes_a_flame_that_is_inverted_and_compared(open_page: Opener) -> None:
    page = open_page(f"#/timeline?run=gpu&{RANGE}")
    page.get_by_role("button", name="Flame").click()
    chart = page.get_by_label("The range by what it contains")
    expect(chart).to_contain_text("ExecutorState")
    page.get_by_role("button", name="Inverted").click()
    page.wait_for_function(
        "() => decodeURIComponent(location.hash).includes('flame=stack,inverted')"
    )
    page.get_by_label("Group by").select_option("category,name")
    expect(chart).to_contain_text("kernel")
    page.get_by_role("button", name="Keep for comparison").click()
    expect(page.locator(".tl-flame")).to_contain_text("Red took more")
    assert violations(page) == []


def test_a_link_shows_a_run_against_another(open_page: Opener) -> None:
    page = open_page(f"#/timeline?run=gpu&{RANGE}&tl.flame=name&tl.baserun=cpu")
    expect(page.locator(".tl-flame")).to_contain_text("as if both ranges were as long")
    expect(page.locator(".tl-flame .slice.up-much").first).to_be_visible()


def test_the_critical_path_is_a_table_and_tells_the_slack_of_an_event(open_page: Opener) -> None:
    page = open_page(f"#/timeline?run=gpu&{RANGE}")
    page.get_by_role("button", name="Critical path").click()
    panel = page.locator(".tl-panel")
    expect(panel).to_contain_text("Of the range:")
    panel.locator("tbody th button").first.click()
    expect(page.locator(".tl-event")).to_contain_text("Slack")
    expect(page.locator(".tl-event")).to_contain_text("on the critical path")


def test_the_arrows_read_a_flame_and_leave_the_view(open_page: Opener) -> None:
    page = open_page(f"#/timeline?run=gpu&{RANGE}&tl.flame=name")
    chart = page.get_by_label("The range by what it contains")
    chart.focus()
    page.wait_for_timeout(500)
    before = page.url
    page.keyboard.press("ArrowRight")
    expect(chart.locator(".slice.marked")).to_have_count(1)
    page.wait_for_timeout(500)
    assert page.url == before
