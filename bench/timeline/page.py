"""The timeline's page in Chromium: when its first picture is whole, and the bytes of a screen."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from playwright.sync_api import Browser, Page, Response, sync_playwright

CHROMIUM_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTH_PX: Final = 1440
HEIGHT_PX: Final = 900
SEED: Final = 20_261_121
DEEPEST: Final = 7  # views down to 10^-7 of the trace
_PATIENCE_MS: Final = 300_000
_PAINTED = "() => performance.getEntriesByName('timeline-painted').length > 0"
_WHEN = """() => {
  const [mark] = performance.getEntriesByName('timeline-painted');
  return {origin: performance.timeOrigin, at: mark.startTime};
}"""


@dataclass(frozen=True, slots=True)
class Painted:
    """The first whole picture: every slice at the detail of its pixel, every label with its name.

    Attributes:
        at_s: When, in seconds since the epoch.
        after_s: How long after the address was opened.
        tile_bytes: What its tiles weigh.
    """

    at_s: float
    after_s: float
    tile_bytes: int


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's browser, without a screen and without a GPU."""
    path = next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


@contextmanager
def fresh_page(browser: Browser) -> Iterator[Page]:
    """A page that has no cache of an earlier one."""
    context = browser.new_context(viewport={"width": WIDTH_PX, "height": HEIGHT_PX})
    page = context.new_page()
    page.set_default_timeout(_PATIENCE_MS)
    yield page
    context.close()


class TileBytes:
    """What the tiles weigh that a page gets."""

    def __init__(self, page: Page) -> None:
        self.answers: list[Response] = []
        page.on("response", self._note)

    def _note(self, response: Response) -> None:
        if "/timeline/tile" in response.url:
            self.answers.append(response)

    def take(self) -> int:
        """Bytes since the last call; tiles given up on the way do not count."""
        found, self.answers = self.answers, []
        return sum(int(answer.headers.get("content-length", 0)) for answer in found)


def first_paint(page: Page, url: str) -> Painted:
    """Open the timeline in an empty page as a person does and wait for the whole picture."""
    weighed = TileBytes(page)
    page.goto(f"{url}#/trace_viewer")
    page.wait_for_function(_PAINTED)
    when: dict[str, Any] = page.evaluate(_WHEN)
    return Painted((when["origin"] + when["at"]) / 1e3, when["at"] / 1e3, weighed.take())


def warm_paint(browser: Browser, url: str) -> Painted:
    """The same in a browser that has had another page of this server open, in a new tab."""
    with fresh_page(browser) as page:
        page.goto(f"{url}#/about")
        page.locator("main h1").first.wait_for()
        page.wait_for_load_state("networkidle")
        return first_paint(page.context.new_page(), url)


def screens(browser: Browser, url: str, views: int) -> list[int]:
    """Bytes of the tiles of random views at all zooms, each opened by its address."""
    with fresh_page(browser) as page:
        page.goto(f"{url}#/trace_viewer")
        page.wait_for_function(_PAINTED)
        whole: dict[str, int] = page.request.get(f"{url}api/v1/timeline/meta").json()
    found = []
    for begin, end in random_views(whole["begin_ps"], whole["end_ps"], views):
        with fresh_page(browser) as page:
            weighed = TileBytes(page)
            page.goto(f"{url}#/trace_viewer?tl.view={begin}~{end}")
            page.wait_for_function(_PAINTED)
            found.append(weighed.take())
    return found


def random_views(begin: int, end: int, views: int) -> Iterator[tuple[int, int]]:
    """Views at random places, their lengths spread evenly over the powers of ten."""
    dice = random.Random(SEED)
    for _ in range(views):
        length = int((end - begin) * 10 ** -dice.uniform(0, DEEPEST)) + 1
        left = begin + int(dice.uniform(0, 1) * (end - begin - length))
        yield left, left + length
