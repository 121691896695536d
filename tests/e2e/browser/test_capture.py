"""The Capture dialog in a browser: ordered, followed, opened; off where it is not allowed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from stepscope.capture.rpc.server import api as profiler_server
from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import Opener
from tests.profiles import worked_example
from tests.unit.capture.rpc.fake_door import FakeDoor

pytest.importorskip("grpc", reason="grpcio is not installed")


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """A log directory without a recording."""
    return tmp_path / "new"


@pytest.fixture
def server(recordings: Path) -> Iterator[Server]:
    """Pages that may record."""
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    with Server(str(recordings), Settings(port=0, allow_capture=True)) as running:
        yield running


@pytest.fixture
def worker() -> Iterator[str]:
    door = FakeDoor(worked_example(gpu=False, steps=12))
    with profiler_server.start(0, door=door) as started:
        yield started.address


@pytest.fixture
def dialog(page: Page, server: Server, allowed_errors: list[str], watch: object) -> Page:
    # An empty log directory has no overview to ask for.
    allowed_errors.append("Failed to load resource")
    page.set_default_timeout(20_000)
    page.goto(server.url)
    page.locator("main").get_by_role("button", name="Capture").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    return page


def test_a_recording_is_ordered_and_its_overview_opens(dialog: Page, worker: str) -> None:
    page = dialog
    page.get_by_label("Addresses").fill(worker)
    page.get_by_label("Duration (ms)").fill("300")
    page.get_by_text("All", exact=True).click()
    page.get_by_role("button", name="Record", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("main h1")).to_contain_text("each 900 µs step")
    expect(page.locator(".figures")).to_be_visible()
    # The address is kept for the next time.
    page.locator("header").get_by_role("button", name="Capture").click()
    expect(page.get_by_label("Addresses")).to_have_value(worker)


def test_a_recording_that_ends_behind_a_closed_dialog_is_one_press_away(
    dialog: Page, worker: str
) -> None:
    page = dialog
    page.get_by_label("Addresses").fill(worker)
    page.get_by_label("Duration (ms)").fill("1500")
    page.get_by_role("button", name="Record", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("s to go")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Open the new recording").click()
    expect(page.locator("main h1")).to_contain_text("each 900 µs step")
    expect(page.get_by_role("button", name="Open the new recording")).to_have_count(0)


def test_addresses_are_checked_before_anything_is_recorded(dialog: Page, worker: str) -> None:
    page = dialog
    page.get_by_label("Addresses").fill(f"{worker}, 127.0.0.1:1")
    page.get_by_role("button", name="Check addresses").click()
    found = page.locator(".capture-checks li")
    expect(found.first).to_contain_text(f"{worker}: ready (stepscope")
    expect(found.last).to_contain_text("cannot be reached")
    # Of other addresses nothing is known.
    page.get_by_label("Addresses").fill(worker)
    expect(found).to_have_count(0)


def test_a_preset_fills_the_form_and_a_change_leaves_it(dialog: Page) -> None:
    page = dialog
    page.get_by_text("10 steps", exact=True).click()
    expect(page.get_by_role("textbox", name="Steps")).to_have_value("10")
    page.get_by_text("Python", exact=True).click()
    expect(page.get_by_label("Duration (ms)")).to_have_value("500")
    page.get_by_label("Duration (ms)").fill("700")
    expect(page.get_by_role("dialog")).to_contain_text("your own choice")


def test_a_lost_worker_is_told_before_the_recording_is_opened(dialog: Page, worker: str) -> None:
    page = dialog
    page.get_by_label("Addresses").fill(f"{worker}, 127.0.0.1:1")
    page.get_by_label("Duration (ms)").fill("200")
    page.get_by_role("button", name="Record", exact=True).click()
    table = page.get_by_role("dialog").locator("table")
    expect(table).to_contain_text("recorded")
    expect(table).to_contain_text("cannot be reached")
    page.get_by_role("button", name="Open the recording").click()
    expect(page.locator(".figures")).to_be_visible()


def test_nothing_recorded_says_why_and_keeps_the_form(dialog: Page) -> None:
    page = dialog
    page.get_by_label("Addresses").fill("127.0.0.1:1")
    page.get_by_role("button", name="Record", exact=True).click()
    shown = page.get_by_role("dialog")
    expect(shown).to_contain_text("No worker returned a recording")
    expect(shown).to_contain_text("Connection refused")
    expect(page.get_by_role("button", name="Record", exact=True)).to_be_enabled()


def test_what_is_missing_in_the_form_is_said_without_asking_the_server(dialog: Page) -> None:
    page = dialog
    page.get_by_label("Addresses").fill("")
    page.get_by_role("button", name="Record", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("at least one address")
    page.get_by_label("Addresses").fill("worker:nonsense")
    page.get_by_role("button", name="Record", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("is not a worker address")


def test_a_recording_under_way_can_be_given_up_and_found_again(dialog: Page, worker: str) -> None:
    page = dialog
    page.get_by_label("Addresses").fill(worker)
    page.get_by_label("Duration (ms)").fill("600000")
    page.get_by_role("button", name="Record", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("s to go")
    page.reload()
    page.locator("header").get_by_role("button").filter(has_text="Captur").click()
    expect(page.get_by_role("dialog")).to_contain_text("s to go")
    page.get_by_role("button", name="Stop waiting for the rest").click()
    expect(page.get_by_role("dialog")).to_contain_text("cancelled before the answer arrived")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_dialog_has_no_fault_of_accessibility(
    dialog: Page, scheme: Literal["light", "dark"]
) -> None:
    dialog.emulate_media(color_scheme=scheme)
    assert violations(dialog) == []


class TestWithoutTheFlag:
    """A server that was not allowed to record."""

    @pytest.fixture
    def recordings(self, tmp_path: Path) -> Path:
        run = tmp_path / "logs" / "run"
        run.mkdir(parents=True)
        (run / "a.xplane.pb").write_bytes(worked_example(gpu=True))
        return tmp_path / "logs"

    @pytest.fixture
    def server(self, recordings: Path) -> Iterator[Server]:
        if not (STATIC_FOLDER / "index.html").is_file():
            pytest.skip("the web files are not built: python dev.py web")
        with Server(str(recordings), Settings(port=0)) as running:
            yield running

    def test_there_is_no_button(self, open_page: Opener) -> None:
        page = open_page("#/overview")
        expect(page.locator(".figures")).to_be_visible()
        expect(page.get_by_role("button", name="Capture")).to_have_count(0)
