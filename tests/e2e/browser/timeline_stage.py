"""A timeline in a real browser, and where on it the server says that events lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import FloatRect, Page

from stepscope.surfaces.http import Server
from tests.e2e.browser.conftest import Opener

KERNEL = "ampere_sgemm"
BACKGROUND = [255, 255, 255]
LANE_PX = 17
SETTLE_MS = 8000


@dataclass(frozen=True)
class Stage:
    """The timeline of one host in a page, and the server's own words about it."""

    page: Page
    root: str

    def ask(self, part: str, **question: Any) -> Any:
        """An answer of the timeline's endpoints, as the page itself gets it."""
        query = {"run": "gpu", "host": "worker-0", **question}
        answer = self.page.request.get(f"{self.root}api/v1/timeline/{part}", params=query)
        assert answer.ok, answer.text()
        return answer.json()

    def open(self, **view: str) -> Stage:
        """Open a view and wait for its tiles."""
        query = "&".join(f"tl.{name}={text}" for name, text in view.items())
        self.page.goto(f"{self.root}#/trace_viewer?run=gpu&host=worker-0&{query}")
        self.settle()
        return self

    def settle(self) -> None:
        """Wait until everything in view is drawn with its detail."""
        self.page.locator(".tl-stage canvas").wait_for()
        self.page.locator(".tl-progress.idle").wait_for()
        self.page.wait_for_timeout(100)

    @property
    def box(self) -> FloatRect:
        found = self.page.locator(".tl-stage canvas").bounding_box()
        assert found is not None
        return found

    def view(self) -> tuple[int, int]:
        """The stretch of time in view, from the address."""
        text: str = self.page.evaluate(
            "() => new URLSearchParams(location.hash.split('?')[1]).get('tl.view') ?? ''"
        )
        if not text:
            meta = self.ask("meta")
            return meta["begin_ps"], meta["end_ps"]
        begin, end = text.split("~")
        return int(begin), int(end)

    def changed_view(self, act: Callable[[], None]) -> tuple[int, int]:
        """The view after something changed it."""
        self.page.wait_for_timeout(400)  # the address follows the view after a moment
        before = self.page.url
        act()
        self.page.wait_for_function("(old) => location.href !== old", arg=before)
        self.page.wait_for_timeout(400)
        return self.view()

    def param(self, name: str) -> str:
        """A part of the view in the address."""
        found: str | None = self.page.evaluate(
            "(name) => new URLSearchParams(location.hash.split('?')[1]).get(name)", f"tl.{name}"
        )
        return found or ""

    def wait_param(self, name: str, text: str) -> None:
        """Wait until the address says so."""
        self.page.wait_for_function(
            "([name, text]) => (new URLSearchParams(location.hash.split('?')[1])"
            ".get(name) ?? '') === text",
            arg=[f"tl.{name}", text],
            timeout=SETTLE_MS,
        )

    def place(self, name: str, nth: int = 0) -> dict[str, Any]:
        """The n-th event of a name, by time."""
        found: dict[str, Any] = self.ask("search", q=name, limit=nth + 1)["first"][nth]
        return found

    def point(self, place: dict[str, Any], at: float = 0.5) -> tuple[float, float]:
        """Where the page should draw an event, from its times and its track's name."""
        begin, end = self.view()
        box = self.box
        when = place["begin_ps"] + at * (place["end_ps"] - place["begin_ps"])
        x = box["x"] + (when - begin) / (end - begin) * box["width"]
        name = self.ask("meta")["tracks"][place["track"]]["name"]
        label = self.page.locator(f'.tl-track[title^="{name}"]').bounding_box()
        assert label is not None
        return x, label["y"] + 2 + place["lane"] * LANE_PX + LANE_PX / 2

    def around(self, place: dict[str, Any], times: float = 3) -> Stage:
        """Open the view so that the event fills a part of it."""
        length = place["end_ps"] - place["begin_ps"]
        margin = int(length * (times - 1) / 2)
        return self.open(view=f"{place['begin_ps'] - margin}~{place['end_ps'] + margin}")

    def pixel(self, x: float, y: float) -> list[int]:
        """The colour on the canvas at a point of the page."""
        box = self.box
        found: list[int] = self.page.evaluate(
            "([x, y]) => [...document.querySelector('.tl-stage canvas').getContext('2d')"
            ".getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data].slice(0, 3)",
            [x - box["x"], y - box["y"]],
        )
        return found

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag the mouse."""
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=5)
        self.page.mouse.up()


def open_stage(open_page: Opener, server: Server, allowed_errors: list[str]) -> Stage:
    """The timeline of the recorded GPU host."""
    allowed_errors.append("willReadFrequently")  # `pixel` reads the page's own canvas
    page = open_page("#/trace_viewer?run=gpu&host=worker-0")
    found = Stage(page, f"http://127.0.0.1:{server.port}/")
    found.settle()
    return found
