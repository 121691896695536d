"""Every page there is, in both themes and two widths: accessible, quiet, and still as it loads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page

from stepscope.analysis import TOOLS
from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import Opener
from tests.e2e.browser.test_narrow_and_print import MOST_SHIFT, WATCH_SHIFTS
from tests.e2e.browser.test_tool_pages import GENERIC, PAGES
from tests.e2e.browser.tool_recordings import RECORDINGS
from tests.profiles import no_events, worked_example

_RUNS = {tool: run for tool, (run, _) in (PAGES | GENERIC).items()} | {"collectives": "pod"}
# A tool is shown for a run that it has something to show of; where there is none, with its reason.
ADDRESSES = [
    *(f"{tool.id}?run={_RUNS.get(tool.id, 'gpu')}" for tool in TOOLS),
    *(f"{page}?run=gpu" for page in ("compare", "sql", "runs", "about", "no_such_page")),
    "pod?run=pod",
    "overview_page?run=nothing",
    "overview_page?run=heap",
    "kernel_stats?run=gpu&per=recording",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server over one recording for each page, and one of nothing."""
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    root: Path = tmp_path_factory.mktemp("every")
    recordings = RECORDINGS | {
        "gpu/host.xplane.pb": worked_example(gpu=True, steps=6),
        "nothing/host.xplane.pb": no_events(),
    }
    for name, content in recordings.items():
        path = root / "plugins" / "profile" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with Server(str(root), Settings(port=0)) as running:
        yield running


@pytest.mark.slow
@pytest.mark.only_browser("chromium")  # layout shifts are measured there alone
@pytest.mark.parametrize(
    ("width", "height", "scheme"),
    # Colours do not rest on the width, nor shifts on colours: each pair takes a minute.
    [(1280, 720, "light"), (1440, 900, "dark")],
    ids=["1280-light", "1440-dark"],
)
def test_every_page_is_accessible_and_nothing_moves(
    page: Page, open_page: Opener, width: int, height: int, scheme: Literal["light", "dark"]
) -> None:
    """That none logs an error, ``watch`` sees."""
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    page.add_init_script(WATCH_SHIFTS)
    faults: list[str] = []
    for address in ADDRESSES:
        page.goto("about:blank")
        open_page(f"#/{address}")
        page.wait_for_load_state("networkidle")
        faults += [f"{address}: {fault}" for fault in violations(page)]
        shift = page.evaluate("window.shifted")
        if shift > MOST_SHIFT:
            faults.append(f"{address}: moves by {shift:.3f}")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            faults.append(f"{address}: wider than the window")
    assert faults == []
