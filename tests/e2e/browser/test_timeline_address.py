"""The timeline's address, in a recording that mostly waits for its few steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.e2e.browser.conftest import Opener
from tests.profiles import draw, event, nth, space


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    drawn = draw(
        """
        /host:CPU
          python  w-..............................................................SSSS
        """,
        unit_us=1000,
        w=event("set up"),
        S=event("train", step_num=nth, _r=1),
    )
    run = tmp_path / "late"
    run.mkdir()
    (run / "a.xplane.pb").write_bytes(space(*drawn))
    with Server(str(tmp_path), Settings(port=0)) as running:
        yield running


def test_an_address_without_a_view_opens_at_the_steps(open_page: Opener) -> None:
    """With the timeline open it went to the whole recording; the whole travels as a view."""
    page = open_page("#/trace_viewer?run=late")
    opened = page.get_by_text(re.compile(r"^[\d.]+ ms in view$"))
    expect(opened).to_have_text(re.compile(r"^[45]\.?\d* ms"))
    said = opened.inner_text()
    page.locator(".tl-stage canvas").focus()
    page.keyboard.press("0")
    expect(opened).not_to_have_text(said)
    page.wait_for_function("() => location.hash.includes('tl.view=')")
    page.evaluate("() => { location.hash = '#/trace_viewer?run=late' }")
    expect(opened).to_have_text(said)
