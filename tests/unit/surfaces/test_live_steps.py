"""Step logs of running programs: what is read as they grow, and what is told of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepscope.surfaces.live_steps import LiveProcess, LiveSteps, headline
from tests.unit.formats.test_step_log import chunk


def line(
    rank: int, lengths_us: list[int], *, first: int = 0, ago_s: float = 0, **more: Any
) -> bytes:
    """A chunk whose last step ended so long ago."""
    begin = time.time() - ago_s - sum(lengths_us) / 1e6
    return chunk(lengths_us, first, rank=rank, begin_ns=int(begin * 1e9), **more)


def test_what_is_appended_is_counted_once(tmp_path: Path) -> None:
    log, torn = tmp_path / "run.steps", line(3, [20_000] * 5, first=10, wait_us=1_000)
    log.write_bytes(line(3, [10_000] * 10) + torn[:50])
    live = LiveSteps(tmp_path)
    (before,) = live.read()
    assert (before.name, before.steps, before.memory_bytes) == ("rank 3", 10, 1 << 20)
    assert live.read()[0].steps == 10
    with log.open("ab") as file:
        file.write(torn[50:])
    (after,) = live.read()
    assert (after.steps, after.values) == (15, {"loss": 0.5})
    assert after.step_s == pytest.approx(0.2)
    assert after.input_wait_s == pytest.approx(0.005)
    assert after.recent_longest_s == pytest.approx(0.02)


def test_ranks_are_in_order_and_may_come_later(tmp_path: Path) -> None:
    (tmp_path / "run-rank10.steps").write_bytes(line(10, [1000]))
    live = LiveSteps(tmp_path)
    assert [one.name for one in live.read()] == ["rank 10"]
    (tmp_path / "run-rank9.steps").write_bytes(line(9, [1000]))
    assert [one.name for one in live.read()] == ["rank 9", "rank 10"]


def test_a_log_that_was_replaced_is_read_from_its_begin(tmp_path: Path) -> None:
    log = tmp_path / "run.steps"
    log.write_bytes(line(0, [1000] * 9))
    live = LiveSteps(log)
    assert live.read()[0].steps == 9
    (tmp_path / "new").write_bytes(line(0, [1000] * 9))
    (tmp_path / "new").replace(log)
    assert live.read()[0].steps == 18


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_what_is_no_log_stops_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.steps")
    (tmp_path / "folder.steps").mkdir()
    (tmp_path / "gone.steps").symlink_to("nowhere")
    (tmp_path / "noise.steps").write_bytes(b"\xff" * 3_000_000 + b"\n" + line(0, [1000]))
    damaged = bytearray(line(1, [1000]))
    damaged[-20] ^= 1
    (tmp_path / "damaged.steps").write_bytes(bytes(damaged))
    assert [one.name for one in LiveSteps(tmp_path).read()] == ["rank 0"]


STEADY = [10_000] * 40


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (lambda: [], "No step log (*.steps) has a step yet."),
        (lambda: [line(0, STEADY)], "The step time is steady."),
        (lambda: [line(0, STEADY), line(1, STEADY)], "All processes take the same time."),
        (
            lambda: [line(0, STEADY), line(1, [13_000] * 40), line(2, STEADY)],
            "rank 1 takes 1.30 times the median of all.",
        ),
        (
            lambda: [line(0, STEADY), line(1, STEADY, wait_us=4_000), line(2, STEADY)],
            "rank 1 waits 4 ms of each step for input, the median 0 ms.",
        ),
        (
            lambda: [line(0, [10_000] * 300 + [13_000] * 100)],
            "rank 0 is 30 % slower than it was before.",
        ),
    ],
)
def test_one_line_says_what_is_to_be_seen(
    tmp_path: Path, lines: Callable[[], list[bytes]], expected: str
) -> None:
    (tmp_path / "run.steps").write_bytes(b"".join(lines()))
    assert headline(LiveSteps(tmp_path).read()) == expected


def test_a_process_that_stands_still_is_named(tmp_path: Path) -> None:
    still, busy = line(1, STEADY, ago_s=3000), line(0, STEADY)
    (tmp_path / "run.steps").write_bytes(still)
    assert headline(LiveSteps(tmp_path).read()).startswith("No process has ended a step for 30")
    (tmp_path / "run.steps").write_bytes(still + busy)
    assert headline(LiveSteps(tmp_path).read()).endswith("s; others go on.")


def test_the_last_minute_is_of_steps(tmp_path: Path) -> None:
    """A process that has ended keeps what it was last."""
    (tmp_path / "run.steps").write_bytes(
        line(0, [50_000] * 10, ago_s=500) + line(0, STEADY, first=10, ago_s=300)
    )
    (one,) = LiveSteps(tmp_path).read()
    assert one.recent_step_s == pytest.approx(0.01)
    assert LiveProcess("h", "", "7").recent_step_s is None
