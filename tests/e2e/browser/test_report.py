"""A report opened from the disk: the same pages, no request, nothing of a name runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page

from stepscope.session import open
from stepscope.surfaces.http.app import STATIC_FOLDER
from stepscope.surfaces.report import Choice, make_report
from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import WAIT_MS
from tests.profiles import hostile_names, worked_example
from tests.profiles.ready import names_of_strangers

_REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`CSP: ${event.violatedDirective} blocked ${event.blockedURI}`);
});
"""


@dataclass
class Seen:
    """What the browser did and complained about."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


Opener = Callable[[bytes, Choice, str], Page]


@pytest.fixture
def context(new_context: Callable[[], BrowserContext]) -> BrowserContext:
    """Its own: a page from the disk shares nothing with those of a server."""
    return new_context()


@pytest.fixture
def seen(context: BrowserContext) -> Iterator[Seen]:
    found = Seen()
    context.add_init_script(_REPORT_VIOLATIONS)
    context.on("request", lambda request: found.requests.append(request.url))
    context.on("weberror", lambda error: found.complaints.append(f"uncaught: {error.error}"))
    context.on(
        "console",
        lambda message: (
            found.complaints.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    yield found
    assert found.complaints == []
    files = {url.partition("#")[0] for url in found.requests}
    assert all(url.startswith(("file:", "data:", "blob:")) for url in files), files
    # The file itself, and nothing beside it on the disk.
    assert len([url for url in files if url.startswith("file:")]) == 1


@pytest.fixture
def opened(page: Page, seen: Seen, tmp_path: Path) -> Opener:
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    page.set_default_timeout(WAIT_MS)

    def open_report(recording: bytes, choice: Choice, address: str) -> Page:
        source = tmp_path / "host.xplane.pb"
        source.write_bytes(recording)
        target = tmp_path / "report.html"
        with open(source) as session:
            target.write_bytes(make_report(session, choice).html)
        page.goto(target.as_uri() + address)
        page.locator("main h1").first.wait_for()
        return page

    return open_report


def test_overview_tables_and_timeline_open_from_a_file(opened: Opener) -> None:
    page = opened(worked_example(gpu=True, steps=40), Choice(), "")
    assert "step" in page.locator("main h1").inner_text()
    assert violations(page) == []
    page.get_by_role("button", name="By tool").click()
    pages = page.locator("nav a")
    addresses = [pages.nth(at).get_attribute("href") or "" for at in range(pages.count())]
    assert len(addresses) > 5
    for address in addresses:
        page.evaluate("(hash) => { window.location.hash = hash }", address)
        page.locator("main h1").first.wait_for()
        assert "no answer" not in page.locator("main").inner_text()
        assert "does not answer" not in page.locator("body").inner_text()


def test_timeline_draws_searches_and_selects(opened: Opener) -> None:
    page = opened(worked_example(gpu=True, steps=40), Choice(), "#/trace_viewer")
    page.locator("canvas").first.wait_for()
    page.locator("#tl-search").fill("gemm")
    page.locator("#tl-search").press("Enter")
    page.get_by_text("40", exact=False).first.wait_for()
    page.locator(".timeline").get_by_text("gemm").first.wait_for()


def test_cut_reports_say_so_on_every_page(opened: Opener) -> None:
    page = opened(worked_example(gpu=True, steps=40), Choice(events="top"), "#/kernel_stats")
    notes = page.get_by_label("About this report").inner_text()
    assert "3 of 40 steps" in notes


def test_what_only_the_recording_answers_says_so(opened: Opener) -> None:
    page = opened(worked_example(gpu=True, steps=40), Choice(), "#/sql")
    page.get_by_text("A query reads the recording itself").first.wait_for()
    page.get_by_text("stepscope serve PATH").first.wait_for()
    # No link leads there: what cannot be asked is not offered.
    page.get_by_role("button", name="By tool").click()
    offered = page.locator("nav a").evaluate_all("(all) => all.map((one) => one.hash)")
    assert not {"#/sql", "#/runs", "#/compare"} & set(offered)


@pytest.mark.parametrize("recording", [hostile_names(), names_of_strangers(1000)])
def test_names_of_strangers_stay_text(opened: Opener, recording: bytes) -> None:
    page = opened(recording, Choice(), "")
    for address in ("#/trace_viewer", "#/host_activity", "#/about", "#/framework_op_stats"):
        page.evaluate("(hash) => { window.location.hash = hash }", address)
        page.locator("main h1").first.wait_for()
        assert page.evaluate("() => window.pwned") is None
