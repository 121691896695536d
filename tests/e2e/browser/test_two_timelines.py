"""Notes that travel in the address, and another run that moves under the same cursor."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import Opener


def test_marks_take_notes_and_views_names_and_a_link_has_both(open_page: Opener) -> None:
    page = open_page("#/timeline?run=cpu&tl.marks=2000000000")
    page.get_by_role("button", name="Notes (1)").click()
    page.get_by_label("Note at").fill("here, it waits: 100 %")
    page.get_by_label("Name of this view").fill("all of it")
    page.get_by_role("button", name="Keep").click()
    page.wait_for_function("() => decodeURIComponent(location.hash).includes('tl.books=')")
    page.reload()
    expect(page.locator(".tl-scale")).to_contain_text("here, it waits: 100 %")
    page.get_by_role("button", name="Notes (2)").click()
    expect(page.get_by_role("button", name="all of it", exact=True)).to_be_visible()
    assert violations(page) == []


def test_another_run_is_aligned_and_moves_along(open_page: Opener) -> None:
    page = open_page("#/timeline?run=cpu")
    page.get_by_role("button", name="View", exact=True).click()
    page.get_by_label("Another run below").select_option("gpu")
    head = page.locator(".tl-second-head")
    expect(head).to_contain_text("aligned on step 0")
    page.keyboard.press("Escape")
    lengths = page.locator(".tl-ruler .tl-corner")
    expect(lengths).to_have_count(2)
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
        expect(lengths.nth(1)).to_have_text(lengths.nth(0).inner_text())
    head.get_by_label("Step").fill("7")
    page.keyboard.press("Enter")
    expect(head).to_contain_text("aligned on step 7")
    assert violations(page) == []
    head.get_by_role("button", name="Close").click()
    expect(lengths).to_have_count(1)
