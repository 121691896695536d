"""What people come for, done as they would: each within three actions from where the pages open.

An action is a click or a key; what opens must hold the answer, in sight or one scroll away.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.e2e.browser.conftest import Opener
from tests.e2e.browser.tool_recordings import compiled, heap
from tests.profiles import gpu, host, line, space, stream
from tests.profiles.loops import Collective, Kernel, Loop, record
from tests.profiles.model import EventLike
from tests.unit.formats.kineto.layout import allocation, text, x

MOST_ACTIONS = 3


SLOW_STEP = 6


def python_loop(flip_us: float = 600.0, slow_us: float = 0.0) -> bytes:
    """A loop that spends most of each step in one of its own functions, then launches.

    Its kernel takes ``slow_us`` longer in one step.
    """
    main: list[EventLike] = []
    kernels: list[EventLike] = []
    begin = 0.0
    for step in range(10):
        kernel_us = 200.0 + (slow_us if step == SLOW_STEP else 0.0)
        launch = begin + flip_us + 100
        end = launch + 20 + kernel_us
        main += [
            ("train", begin, end + 60 - begin, {"step_num": step, "_r": 1}),
            ("$train.py:12 step", begin + 2, end + 50 - begin),
            ("$augment.py:40 flip", begin + 10, flip_us),
            ("cuLaunchKernel", launch, 10.0, {"correlation_id": step + 1}),
        ]
        kernels.append(("sgemm", launch + 20, kernel_us, {"correlation_id": step + 1}))
        begin = end + 80
    return space(host(line("python", *main)), gpu(0, stream(7, *kernels)))


def ranks() -> dict[str, bytes]:
    """Eight ranks that end each step with an all-reduce; rank 5 runs a kernel of its own before."""
    kernels = (Kernel("sgemm", 400, "dense/MatMul:MatMul"),)
    own = (Kernel("masked_scatter", 300, "loss/Scatter:Scatter"),)
    loops = [
        Loop(kernels=kernels + own * (rank == 5), collective=Collective(50)) for rank in range(8)
    ]
    named = record(*loops)
    return {name.replace("host", "rank"): content for name, content in named.items()}


def program_heap() -> bytes:
    """PyTorch's allocations of two lines of a program, those of one freed."""

    def call(name: str, ts: float, dur: float) -> dict[str, Any]:
        return x("python_function", name, ts, dur, Python_id=int(ts) + 1)

    events = [
        call("work/train.py(7): step", 0, 900),
        call("work/model.py(31): attend", 10, 300),
        call("work/model.py(58): project", 400, 200),
        x("cpu_op", "aten::bmm", 40, 100),
        x("cpu_op", "aten::mm", 440, 100),
        allocation(50, 64 << 20, 64 << 20, addr=1),
        allocation(450, 16 << 20, 80 << 20, addr=2),
        allocation(700, -(64 << 20), 16 << 20, addr=1),
    ]
    return text(events).encode()


def loop(kernel_us: float) -> bytes:
    """Ten steps of one product of matrices."""
    product = Kernel("sgemm", kernel_us, "dense/MatMul:MatMul")
    return record(Loop(kernels=(product,), steps=10, wait="cuSync"))["host-0"]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run for each question."""
    root = tmp_path_factory.mktemp("tasks")
    write(root)
    return root


def write(root: Path) -> None:
    """The runs of all tasks, as a log directory."""
    runs = {
        "2026_01_01": {"host": loop(400)},
        "2026_01_02": {"host": loop(700)},
        "2026_01_03": {"host": python_loop(300)},
        "2026_01_04": {"host": python_loop(900)},
        "python": {"host": python_loop()},
        "uneven": {"host": python_loop(slow_us=800)},
        "heap": {"host": heap()},
        "lines": {"host": program_heap()},
        "compiled": {"host": compiled()},
        "ranks": ranks(),
    }
    for name, files in runs.items():
        folder = root / "plugins" / "profile" / name
        folder.mkdir(parents=True)
        for host_name, content in files.items():
            suffix = "pt.trace.json" if content.startswith(b"{") else "xplane.pb"
            (folder / f"{host_name}.{suffix}").write_bytes(content)


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
    expect(page.locator("main h1")).to_contain_text(re.compile(r"\d+\s% of each 9\d\d\sµs step"))
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
    expect(page.locator("main")).to_contain_text(re.compile(r"flip takes 61\s% of each"))
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


def answer(page: Page, question: str) -> Locator:
    """An answer in the details of a thing."""
    terms = page.locator(".drawer .thing-answers > div")
    return terms.filter(has=page.locator("dt", has_text=question)).locator("dd")


def test_whether_an_op_is_slow_in_every_step(open_page: Opener) -> None:
    page = open_page("#/?run=uneven")
    me = Person(page)
    me.goes_to("Work")
    me.click(page.get_by_text("Kernel", exact=True))
    grid = page.get_by_role("grid", name="Work")
    me.click(grid.locator('[role="row"]').filter(has_text="sgemm").first)
    often = answer(page, "How often")
    expect(often).to_contain_text("1.5× or more in 1 step")
    expect(often.get_by_role("button")).to_have_text(re.compile(rf"Step {SLOW_STEP}: 1(\.0+)? ms"))
    expect(often).to_be_in_viewport()
    me.is_done("is this op slow in every step or in some")
    me.click(often.get_by_role("button"))
    expect(page.get_by_text(f"step {SLOW_STEP} of")).to_be_visible()
    # The details stay open, and are of that step.
    expect(answer(page, "How long")).to_contain_text("in 1 run")
    assert f"steps={SLOW_STEP}" in page.url


def test_what_a_rank_did_while_the_others_waited(open_page: Opener) -> None:
    page = open_page("#/?run=ranks")
    me = Person(page)
    me.goes_to("Compare")
    me.goes_to("Ranks")
    expect(page.locator("main")).to_contain_text("The other workers wait for worker 5")
    me.goes_to("Pod")
    verdict = page.locator(".verdict h2")
    expect(verdict).to_contain_text(re.compile(r"rank-5 costs 300\sµs of each 750\sµs step"))
    expect(verdict).to_contain_text("it runs masked_scatter, which its peers do not")
    me.is_done("what did rank 5 do while the others waited")


def test_which_line_allocates_the_peak_and_when_it_is_freed(open_page: Opener) -> None:
    page = open_page("#/?run=lines")
    me = Person(page)
    me.goes_to("Memory")
    me.click(page.get_by_role("group", name="By").get_by_text("Line", exact=True))
    largest = page.get_by_role("img", name="What is live, largest first")
    expect(largest).to_contain_text("model.py:31 attend")
    expect(largest).to_contain_text(re.compile(r"64\.0 MiB, 80\.0%, freed by 700\sµs"))
    me.is_done("which line allocates the peak and when is it freed")


def test_how_far_a_kernel_is_from_its_roof_and_who_calls_it(open_page: Opener) -> None:
    page = open_page("#/?run=compiled")
    me = Person(page)
    me.goes_to("Work")
    me.goes_to("HLO Ops")
    grid = page.get_by_role("grid", name="Ops")
    me.click(grid.locator('[role="row"]').filter(has_text="dot.11").first)
    could = answer(page, "Could be")
    expect(could).to_contain_text(re.compile(r"[\d.]+% of its roof \(HBM\): .* instead of 31 µs"))
    expect(could.get_by_role("link", name="Roofline")).to_be_in_viewport()
    expect(answer(page, "Where from")).to_contain_text("layer_11/matmul")
    me.is_done("how far is this kernel from its roof and who calls it")


def test_what_is_different_in_the_slow_steps(open_page: Opener) -> None:
    page = open_page("#/?run=uneven")
    me = Person(page)
    label = page.locator(".step-chart").get_by_text(str(SLOW_STEP), exact=True).bounding_box()
    assert label is not None
    me.actions += 1
    page.mouse.click(label["x"] + label["width"] / 2, label["y"] - 40)
    expect(answer(page, "How long")).to_contain_text("1.78 ms; the median step takes 980 µs")
    expect(answer(page, "Differs")).to_contain_text("sgemm +800 µs")
    me.is_done("what is different in the slow steps")


def test_which_part_of_a_change_is_in_my_code(open_page: Opener) -> None:
    page = open_page("#/?run=2026_01_04")
    me = Person(page)
    me.goes_to("Compare")
    expect(page.locator(".verdict")).to_contain_text("2026_01_03")
    expect(page.locator(".verdict h2")).to_contain_text("Mostly: flip (augment.py:40) +600")
    said = page.get_by_text("In your code")
    expect(said).to_contain_text(
        re.compile(r"\+600\sµs of \+600\sµs per step, most at flip \(augment.py:40\)")
    )
    expect(said).to_be_in_viewport()
    me.is_done("which part of the change from A to B is in my code")
