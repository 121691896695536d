"""The tab as a person meets it: TensorBoard's page with ours in its frame."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.e2e.tensorboard_process import tensorboard
from tests.profiles import worked_example

pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
pytestmark = [pytest.mark.e2e, pytest.mark.browser]


def test_the_pages_stand_in_the_tab(page: Page, tmp_path: Path) -> None:
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    (tmp_path / "h.xplane.pb").write_bytes(worked_example(gpu=True, steps=40))
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.on(
        "console",
        lambda said: broken.append(said.text) if "Security Policy" in said.text else None,
    )
    with tensorboard(tmp_path) as board:
        page.goto(f"{board}/#stepscope")
        frame = page.frame_locator("iframe").last
        expect(frame.locator("main h1")).to_contain_text("ound", timeout=60_000)
        frame.get_by_role("link", name="Timeline").first.click()
        expect(frame.locator("canvas").first).to_be_visible(timeout=60_000)
    assert broken == []
