"""Pages in a real browser, served by the real server; every page is watched for misbehaviour."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    WebError,
    expect,
)

from dev import CHROMIUM_NAMES
from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.profiles import hostile_names, worked_example

WAIT_MS = 20_000
expect.set_options(timeout=WAIT_MS)
FIREFOXES = ("firefox-esr", "firefox")


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_name: str) -> dict[str, Any]:
    """The system's browser, headless, without what containers lack.

    Chromium, or with ``--browser firefox`` the system's Firefox over WebDriver BiDi.
    """
    if browser_name == "firefox":
        path = next((found for name in FIREFOXES if (found := shutil.which(name))), None)
        if path is None:
            pytest.skip("no Firefox on PATH")
        return {"channel": "moz-firefox", "executable_path": path}
    path = next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)
    return {"executable_path": path, "args": ["--no-sandbox", "--disable-gpu"]}


@pytest.fixture(scope="session")
def browser_context_args() -> dict[str, Any]:
    """The size of page that everything must be readable at."""
    return {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory: two GPU hosts, a CPU run, hostile names, and a file that is cut."""
    root = tmp_path_factory.mktemp("logs")
    runs = root / "plugins" / "profile"
    files = {
        "gpu/worker-0.xplane.pb": worked_example(gpu=True, steps=40),
        "gpu/worker-1.xplane.pb": worked_example(gpu=True, steps=40),
        "cpu/laptop.xplane.pb": worked_example(gpu=False, steps=600),
        "hostile/<b>host.xplane.pb": hostile_names(),
        "damaged/host.xplane.pb": worked_example(gpu=True)[:-400],
        "gpu/empty.xplane.pb": b"",
    }
    for name, content in files.items():
        path = runs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


@pytest.fixture(scope="session")
def server(recordings: Path) -> Iterator[Server]:
    """The server over all recordings."""
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    with Server(str(recordings), Settings(port=0)) as running:
        yield running


@dataclass
class Watch:
    """What a page did that no page may do."""

    origin: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def on_request(self, request: Request) -> None:
        """Note a request; another origin's is a complaint."""
        self.requests.append(request.url)
        if not request.url.startswith((self.origin, "blob:", "data:")):
            self.complaints.append(f"request to {request.url}")

    def on_error(self, error: WebError) -> None:
        """Note an exception that no script caught."""
        self.complaints.append(f"uncaught: {error.error}")

    def on_message(self, message: ConsoleMessage) -> None:
        """Note what a page or the browser complains about on the console."""
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)


_REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`CSP: ${event.violatedDirective} blocked ${event.blockedURI}`);
});
"""


@pytest.fixture(scope="session")
def shared_context(
    browser: Browser, browser_context_args: dict[str, Any]
) -> Iterator[BrowserContext]:
    """The context of all tests: it loads and compiles the scripts of the pages once.

    That is more than half of the time of a test with a context of its own.
    """
    context = browser.new_context(**browser_context_args)
    context.add_init_script(_REPORT_VIOLATIONS)
    yield context
    context.close()


@pytest.fixture
def context(shared_context: BrowserContext) -> Iterator[BrowserContext]:
    """The shared context, cleaned after each test."""
    yield shared_context
    for page in shared_context.pages:
        with suppress(Error):  # a page of no origin stores nothing
            page.evaluate("localStorage.clear()")
        page.close()
    shared_context.unroute_all()
    shared_context.clear_cookies()
    shared_context.clear_permissions()


@pytest.fixture
def allowed_errors() -> list[str]:
    """Parts of console errors that a test expects; a test appends its own."""
    return []


@pytest.fixture
def watch(context: BrowserContext, server: Server, allowed_errors: list[str]) -> Iterator[Watch]:
    """Fails the test when a page logs an error, breaks its policy or leaves its origin."""
    found = Watch(origin=f"http://127.0.0.1:{server.port}/")
    context.on("request", found.on_request)
    context.on("weberror", found.on_error)
    context.on("console", found.on_message)
    yield found
    context.remove_listener("request", found.on_request)
    context.remove_listener("weberror", found.on_error)
    context.remove_listener("console", found.on_message)
    expected = tuple(allowed_errors)
    left = [text for text in found.complaints if not any(part in text for part in expected)]
    assert left == []


Opener = Callable[[str], Page]


@pytest.fixture
def open_page(page: Page, server: Server, watch: Watch) -> Opener:
    """Opens a hash of the pages, with the token, and waits until it shows what it has."""
    page.set_default_timeout(WAIT_MS)
    page.request.get(server.url)  # the token becomes a cookie; no page is loaded for that

    def opened(address: str) -> Page:
        page.goto(f"http://127.0.0.1:{server.port}/{address}")
        page.locator("main h1").first.wait_for()
        return page

    return opened
