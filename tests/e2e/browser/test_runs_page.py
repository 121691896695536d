"""The list of runs: facts that arrive, a note that stays, the way to a comparison."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from stepscope.store.notes import NAME
from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import Opener


@pytest.fixture(autouse=True)
def without_notes(recordings: Path) -> Iterator[None]:
    """The recordings are shared with other tests."""
    yield
    (recordings / NAME).unlink(missing_ok=True)


def test_runs_are_listed_noted_and_compared(open_page: Opener) -> None:
    page = open_page("#/runs?run=gpu")
    rows = page.locator('.grid-rows [role="row"]')
    expect(page.get_by_text("4 runs", exact=True)).to_have_count(1)
    expect(page.get_by_role("status").first).to_be_empty()
    expect(rows.filter(has_text=re.compile("^cpu"))).to_contain_text("CPU")
    rows.filter(has_text=re.compile("^cpu")).click()
    page.get_by_label("Tags, separated by commas").fill("before, laptop")
    page.get_by_label("Note", exact=True).fill("without the cache")
    page.get_by_role("button", name="Keep").click()
    expect(rows.filter(has_text="before, laptop")).to_be_visible()
    # The list was asked for again, and the details are still open.
    expect(page.locator(".run-note")).to_contain_text("Kept beside the logs.")
    page.reload()
    expect(rows.filter(has_text="before, laptop")).to_contain_text("without the cache")
    assert violations(page) == []
    rows.filter(has_text="laptop").click()
    page.get_by_role("link", name="Compare gpu with this").click()
    page.wait_for_function("() => location.hash.includes('baseline=cpu')")
    expect(page.locator("main h1")).to_contain_text("Compare")
