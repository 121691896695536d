"""What people come for, done as they would: each within three actions from where the pages open.

An action is a click or a key; what opens must hold the answer, in sight or one scroll away.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.e2e.browser.conftest import Opener
from tests.e2e.browser.tool_recordings import heap
from tests.profiles import gpu, host, line, space, stream
from tests.profiles.loops import Kernel, Loop, record
from tests.profiles.model import EventLike

MOST_ACTIONS = 3


def python_loop() -> bytes:
    """A loop that spends most of each step in one of its own functions, then launches."""
    main: list[EventLike] = []
    kernels: list[EventLike] = []
    for step in range(10):
        begin = 1000.0 * step
        main += [
            ("train", begin, 980.0, {"step_num": step, "_r": 1}),
            ("$train.py:12 step", begin + 2, 970.0),
            ("$augment.py:40 flip", begin + 10, 600.0),
            ("cuLaunchKernel", begin + 700, 10.0, {"correlation_id": step}),
        ]
        kernels.append(("sgemm", begin + 720, 200.0, {"correlation_id": step}))
    return space(host(line("python", *main)), gpu(0, stream(7, *kernels)))


def loop(kernel_us: float) -> bytes:
    """Ten steps of one product of matrices."""
    product = Kernel("sgemm", kernel_us, "dense/MatMul:MatMul")
    return record(Loop(kernels=(product,), steps=10, wait="cuSync"))["host-0"]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run for each question."""
    root = tmp_path_factory.mktemp("tasks")
    files = {
        "2026_01_01": loop(400),
        "2026_01_02": loop(700),
        "python": python_loop(),
        "heap": heap(),
    }
    for name, content in files.items():
        folder = root / "plugins" / "profile" / name
        folder.mkdir(parents=True)
        (folder / "host.xplane.pb").write_bytes(content)
    return root


@pytest.fixture(scope="module")
def server(recordings: Path) -> Iterator[Server]:
    """The server over them."""
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    with Server(str(recordings), Settings(port=0)) as running:
        yield running


class Person:
    """Somebody at the pages, whose actions are counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions = 0
        self._began = time.monotonic()

    def click(self, what: Locator) -> None:
        """One action."""
        self.actions += 1
        what.click()

    def goes_to(self, name: str) -> None:
        """One action: a view, or a tab of the view that is open."""
        self.click(self.page.get_by_role("navigation").get_by_role("link", name=name, exact=True))

    def is_done(self, task: str) -> None:
        """Prints what it took, and holds it against the bound."""
        print(f"{task}: {self.actions} actions, {time.monotonic() - self._began:.1f} s")
        assert self.actions <= MOST_ACTIONS


def test_what_limits_me_and_what_do_i_do(open_page: Opener) -> None:
    page = open_page("#/?run=python")
    me = Person(page)
    expect(page.locator("main h1")).to_contain_text(re.compile(r"\d+% of each 9\d\d\sµs step"))
    fix = page.locator(".fix-first")
    expect(fix).to_contain_text(re.compile(r"(saves|could save) .*(ms|µs)"))
    expect(fix).to_be_in_viewport()
    me.is_done("what limits me and what do I do")


def test_the_longest_gap_of_the_gpu(open_page: Opener) -> None:
    page = open_page("#/?run=python")
    me = Person(page)
    me.goes_to("Idle")
    gaps = page.locator("section").filter(has=page.get_by_role("heading", name="Longest gaps"))
    me.click(gaps.locator('.grid-rows [role="row"]').first)
    me.click(page.get_by_role("link", name="Show in timeline"))
    expect(page.locator("canvas").first).to_be_visible()
    # Of the step that begins at 1 ms, until its kernel starts 0.72 ms later.
    expect(page.get_by_role("region", name="Details")).to_contain_text("720 µs")
    me.is_done("the longest gap of the GPU")


def test_the_line_that_launches_the_slowest_op(open_page: Opener) -> None:
    page = open_page("#/?run=python")
    me = Person(page)
    me.goes_to("Steps")
    grid = page.get_by_role("grid", name="Parts").first
    row = grid.locator('[role="row"]').filter(has_text="sgemm").first
    expect(row).to_contain_text("train.py")
    me.click(row)
    expect(page.locator(".drawer")).to_contain_text("12")
    me.is_done("which line of my code launches the slowest op")


def test_what_got_slower_since_yesterday(open_page: Opener) -> None:
    page = open_page("#/?run=2026_01_02")
    me = Person(page)
    me.goes_to("Compare")
    expect(page.locator(".verdict")).to_contain_text("2026_01_01")
    expect(page.locator("main")).to_contain_text("MatMul")
    expect(page.locator("main")).to_contain_text(re.compile(r"\+300 µs|\+0\.30? ms"))
    me.is_done("what got slower since yesterday")


def test_where_python_spends_the_step(open_page: Opener) -> None:
    page = open_page("#/?run=python")
    me = Person(page)
    me.goes_to("Steps")
    expect(page.locator("main")).to_contain_text(re.compile(r"flip takes 61% of each"))
    expect(page.locator("main")).to_contain_text("augment.py")
    me.is_done("where does Python spend the step")


def test_which_batch_size_the_memory_allows(open_page: Opener) -> None:
    page = open_page("#/?run=heap")
    me = Person(page)
    me.goes_to("Memory")
    room = page.locator(".figures > *").filter(has_text="Room for a batch")
    expect(room).to_contain_text(re.compile(r"[\d.]+(–[\d.]+)?×"))
    expect(room).to_be_in_viewport()
    me.is_done("which batch size does the memory allow")
