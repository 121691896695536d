"""One switch says what times are of, on every page, and the address remembers it."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.browser.conftest import Opener


def choose(page: Page, label: str) -> None:
    page.locator(".times-switch").get_by_text(label).click()


def test_the_choice_goes_from_page_to_page(open_page: Opener) -> None:
    page = open_page("#/kernels?run=gpu")
    # 38 of the 40 steps count: not the first, which may be warming up, nor the last.
    expect(page.locator(".times-said")).to_have_text(
        "Times are per step, the mean of 38, summed over 2 hosts."
    )
    total = page.locator("main").get_by_text("Total duration").locator("..")
    of_step = total.inner_text()
    choose(page, "Whole recording")
    whole = "Times are of the whole recording."
    expect(page.locator(".times-said")).to_have_text(whole)
    expect(total).not_to_have_text(of_step)
    assert "per=recording" in page.url
    page.get_by_role("link", name="Framework Ops").click()
    expect(page.locator(".times-said")).to_have_text(whole)
    page.reload()
    expect(page.locator(".times-said")).to_have_text(whole)


def test_idle_shares_agree_whatever_is_chosen(open_page: Opener) -> None:
    page = open_page("#/idle?run=gpu")
    for choice, said in (("Whole recording", "of the whole recording"), ("Per step", "per step")):
        choose(page, choice)
        expect(page.locator(".times-said")).to_contain_text(said)
        idle = re.search(r"(\d+)(\.\d+)?\s?%", page.locator(".answer h2").inner_text())
        assert idle
        page.get_by_role("link", name="Work", exact=True).click()
        page.get_by_role("link", name="Op Profile").click()
        row = page.locator('[role="row"]').filter(has_text="IDLE")
        expect(row).to_contain_text(idle[1])
        page.go_back()
        page.go_back()


def test_the_overview_accounts_for_the_recording(open_page: Opener) -> None:
    page = open_page("#/overview?run=gpu")
    verdict = page.locator("main h1").inner_text()
    choose(page, "Whole recording")
    expect(page.locator("main h1")).to_contain_text("recorded")
    choose(page, "Per step")
    expect(page.locator("main h1")).to_have_text(verdict)


def test_a_page_that_has_one_base_says_so(open_page: Opener) -> None:
    page = open_page("#/host?run=gpu&per=recording")
    expect(page.locator(".times-switch input:disabled")).to_have_count(1)
    expect(page.locator(".times-said")).to_contain_text("Times are per step")
    # Nothing of it: there is no time of either kind to switch.
    open_page("#/timeline?run=gpu")
    expect(page.locator(".times-switch")).to_have_count(0)
