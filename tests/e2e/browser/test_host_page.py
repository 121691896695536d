"""Python and Host: the threads' stacks, of a step or all, searched, inverted and compared."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import Opener


def stacks(page: Page) -> Locator:
    return page.locator("section.chart").filter(has=page.get_by_role("heading", name="Stacks"))


def choose(page: Page, button: str, choice: str) -> None:
    stacks(page).get_by_role("button", name=button).click()
    page.get_by_role("combobox").fill(choice)
    page.keyboard.press("Enter")


def test_stacks_are_of_all_threads_and_steps_and_lead_to_the_timeline(open_page: Opener) -> None:
    page = open_page("#/host?run=gpu")
    flame = page.get_by_label("Stacks of the threads")
    expect(flame).to_contain_text("ExecutorState")
    expect(stacks(page)).to_contain_text("all 40 steps")
    assert violations(page) == []
    flame.locator(".slice text", has_text="ExecutorState").first.click(force=True)
    stacks(page).get_by_role("link", name="Show the longest in the timeline").click()
    expect(page.locator(".tl-event")).to_contain_text("ExecutorState")


def test_a_step_stands_against_another_and_the_address_keeps_it(open_page: Opener) -> None:
    page = open_page("#/host?run=gpu")
    choose(page, "Step", "7")
    page.wait_for_function("() => location.hash.includes('stacks.step=')")
    whole = stacks(page).inner_text()
    choose(page, "Against", "12")
    expect(stacks(page)).to_contain_text("Red took more")
    page.reload()
    expect(stacks(page)).to_contain_text("Red took more")
    choose(page, "Against", "cpu")
    expect(stacks(page)).to_contain_text("as if both ranges were as long")
    assert "all 40 steps" not in whole


def test_a_name_is_found_and_its_time_said(open_page: Opener) -> None:
    page = open_page("#/host?run=gpu")
    field = page.get_by_role("searchbox", name="Find a name")
    field.fill("executorstate")
    expect(stacks(page).get_by_role("status")).to_contain_text("place")
    expect(stacks(page).locator(".slice.hit").first).to_be_visible()
    expect(stacks(page).locator(".slice.dim").first).to_be_visible()
    field.fill("no such function")
    expect(stacks(page).get_by_role("status")).to_contain_text("0 places")
    expect(stacks(page).locator(".slice.hit")).to_have_count(0)


def test_stacks_are_inverted_read_by_keys_and_a_table(open_page: Opener) -> None:
    page = open_page("#/host?run=gpu")
    flame = page.get_by_label("Stacks of the threads")
    flame.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".tip")).to_contain_text("Self time")
    stacks(page).get_by_role("button", name="Inverted").click()
    page.wait_for_function("() => location.hash.includes('stacks.inverted=yes')")
    stacks(page).get_by_role("button", name="Show as table").click()
    expect(stacks(page).locator("tbody tr").first).to_be_visible()
    assert violations(page) == []


def test_a_name_opens_between_its_callers_and_callees(open_page: Opener) -> None:
    page = open_page("#/host?run=gpu")
    stacks(page).locator(".host-names button").first.click()
    sandwich = page.get_by_label("Callers and callees")
    expect(sandwich).to_contain_text("of all")
    expect(sandwich.locator(".sandwich-title")).to_have_text(["Callers", "Callees"])
    page.wait_for_function("() => location.hash.includes('stacks.of=')")
    page.reload()
    expect(sandwich).to_contain_text("of its own")
    assert violations(page) == []
    sandwich.get_by_role("button", name="All stacks").click()
    expect(page.get_by_label("Stacks of the threads")).to_be_visible()
