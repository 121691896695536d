"""Panning and zooming a full screen by the keys, as the browser's own trace saw it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.frames import CATEGORIES, Frames, frames_of
from bench.served import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDTH_PX: Final = 1920
HEIGHT_PX: Final = 1080
# From the begin of a tile on, at two buckets to a pixel: the most that a screen may show.
_BEGIN_PS: Final = 40 * 512 << 18
_END_PS: Final = _BEGIN_PS + (1500 << 19)
_HELD_MS: Final = 1500
_PAINTED = "() => performance.getEntriesByName('timeline-painted').length > 0"


@dataclass(frozen=True, slots=True)
class Moved:
    """A full screen in motion.

    Attributes:
        slices: On the screen when the motion began.
        frames: Of panning to and fro and zooming out and in.
    """

    slices: int
    frames: Frames


def grid_recording(folder: Path) -> Path:
    """The recording with full screens, made once."""
    target = folder / "grid.xplane.pb"
    if not target.exists():
        subprocess.run([sys.executable, "-m", "bench.grid", str(target)], check=True)
    return target


def moved(browser: Browser, recording: Path, log: Path, held_ms: int = _HELD_MS) -> Moved:
    """Hold D, A, S and W for a while each, and read the trace of it."""
    with Served(recording, log) as server:
        context = browser.new_context(viewport={"width": WIDTH_PX, "height": HEIGHT_PX})
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{server.url}#/trace_viewer?tl.view={_BEGIN_PS}~{_END_PS}")
        page.wait_for_function(_PAINTED)
        tiles = [url for url in asked if "/timeline/tile" in url]
        slices = sum(_slices(page, url) for url in tiles)
        box = page.locator(".tl-stage canvas").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        browser.start_tracing(page=page, categories=list(CATEGORIES))
        for key in "dasw":
            page.keyboard.press(key, delay=held_ms)
        trace = browser.stop_tracing()
        context.close()
    return Moved(slices, frames_of(trace))


def _slices(page: Page, url: str) -> int:
    """Slices of a tile that lie in the view, on tracks that are on the screen."""
    tile: dict[str, Any] = page.request.get(f"{url}&format=json").json()
    seen = page.locator(".tl-track").count()
    first, unit = tile["begin_ps"], tile["unit_ps"]
    found = 0
    for row, track in enumerate(tile["row_track"]):
        part = slice(*tile["row_begin"][row : row + 2])
        if track < seen:
            found += sum(
                first + x1 * unit > _BEGIN_PS and first + x0 * unit < _END_PS
                for x0, x1 in zip(tile["x0"][part], tile["x1"][part], strict=True)
            )
    return found
