"""A process is measured as it is, and a failing one is an error with its output."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.measure import ProcessFailed, measure


def test_memory_and_time_of_a_process(tmp_path: Path) -> None:
    code = (
        "import time; held = bytearray(200_000_000); held[::4096] = held[::4096]; time.sleep(0.3)"
    )
    run = measure([sys.executable, "-c", code], tmp_path / "log")
    assert 200 < run.peak_mb < 400
    assert 0.3 < run.wall_s < 30
    assert run.cpu_s < run.wall_s


def test_a_failing_process_is_an_error_that_shows_its_output(tmp_path: Path) -> None:
    code = "print('the reason'); raise SystemExit(3)"
    with pytest.raises(ProcessFailed, match=r"ended with 3\n(.|\n)*the reason"):
        measure([sys.executable, "-c", code], tmp_path / "log")
