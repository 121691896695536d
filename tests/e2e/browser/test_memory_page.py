"""Memory: what holds it over time, and what was live at the moment that is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import Opener
from tests.e2e.browser.tool_recordings import heap


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server over the memory of two GPUs."""
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    root: Path = tmp_path_factory.mktemp("heap")
    (root / "host.xplane.pb").write_bytes(heap())
    with Server(str(root), Settings(port=0)) as running:
        yield running


def course(page: Page) -> Locator:
    return page.get_by_role("group", name="What holds GPU_0_bfc over time")


def test_layers_say_what_is_held_at_the_moment_under_the_pointer(open_page: Opener) -> None:
    page = open_page("#/memory")
    course(page).focus()
    page.keyboard.press("Home")
    # The first event: an activation of 4 MiB beside weights and stack; then one of 5 MiB as well.
    tip = page.locator(".tip")
    expect(tip).to_contain_text("from before the recording")
    expect(tip).to_contain_text("96.0 MiB")
    expect(tip).to_contain_text("108 MiB")
    page.keyboard.press("ArrowRight")
    expect(tip).to_contain_text("113 MiB")
    assert violations(page) == []


def test_a_moment_is_listed_instead_of_the_peak(open_page: Opener) -> None:
    page = open_page("#/memory")
    title = page.get_by_role("heading", name="What is live")
    expect(title).to_have_text("What is live at the peak")
    course(page).focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('at_ms=')")
    expect(title).to_contain_text("113 MiB")
    expect(page.locator(".grid-foot")).to_contain_text("113 MiB")
    # The peak itself stays what it was.
    expect(page.locator(".answer h2")).to_contain_text("218 MiB")
    page.get_by_role("button", name="Back to the peak").click()
    expect(title).to_have_text("What is live at the peak")


def test_holders_are_grouped_as_asked(open_page: Opener) -> None:
    page = open_page("#/memory")
    key = page.locator(".part-key").first
    expect(key).to_contain_text("layer_*/Relu")
    page.get_by_text("Region", exact=True).first.click()
    expect(key).to_contain_text("output")
    page.get_by_text("Module", exact=True).first.click()
    expect(key).to_contain_text("layer_11")
    assert "by=module" in page.url
