"""What the bench says of frames is what the browser's own trace says."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from bench.grid import grid
from bench.timeline.frames import moved
from stepscope.surfaces.http.app import STATIC_FOLDER


@pytest.mark.only_browser("chromium")
def test_the_bench_pans_and_zooms_a_full_screen_and_sees_its_frames(
    browser: Browser, tmp_path: Path
) -> None:
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    recording = tmp_path / "grid.xplane.pb"
    recording.write_bytes(grid())
    found = moved(browser, recording, tmp_path / "log", held_ms=300)
    assert found.slices > 20_000
    assert len(found.frames.busy_ms) > 10
    assert all(busy > 0 for busy in found.frames.busy_ms)
    # Frames begin one after the other: what one takes cannot be more than the way to the next
    # by much, or tasks were counted that do not belong to it.
    assert sum(found.frames.busy_ms) < 1.2 * sum(found.frames.interval_ms) + 200
