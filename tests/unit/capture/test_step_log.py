"""The step log: what is heard, put together and written, and what a kill leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import stepscope
from stepscope.capture import step_clock, step_log, tracing
from stepscope.errors import CaptureError
from stepscope.formats.step_log import SUMMARY_ENDING, parsed, summaries_in
from stepscope.store.step_summaries import read_summaries

_NS_PER_MS = 1_000_000


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[step_log.StepLogWriter]:
    monkeypatch.delenv("RANK", raising=False)
    made = step_log.StepLogWriter(tmp_path / "run.steps")
    step_clock.follow(made._heard)
    tracing.set_base(step_clock.marker_emitter())
    yield made
    step_clock.unfollow(made._heard)
    tracing.set_base(None)


def chunks(log: step_log.StepLogWriter) -> list[dict]:  # type: ignore[type-arg]  # JSON
    log.flush()
    found = [parsed(line) for line in log._path.read_bytes().splitlines()]
    assert None not in found
    return [one for one in found if one is not None]


def marked(log: step_log.StepLogWriter, *lengths_ms: float, begin_ms: float = 1.0) -> None:
    """Steps that a marker tells of, one after the other."""
    for length in lengths_ms:
        end_ms = begin_ms + length
        begin, end = round(begin_ms * _NS_PER_MS), round(end_ms * _NS_PER_MS)
        log._heard(step_clock.MARKER, "train", begin, end)
        begin_ms = end_ms


def test_steps_are_written_with_their_sum(log: step_log.StepLogWriter) -> None:
    marked(log, 10, 30, 20)
    (found,) = chunks(log)
    assert found["rows"]["sum_us"] == [10_000, 30_000, 20_000]
    assert found["rows"]["begin_us"] == [0, 10_000, 40_000]
    chunk = found["chunk"]
    assert (chunk["first"], chunk["steps"], chunk["sum_us"], chunk["max_us"]) == (
        0, 3, 60_000, 30_000,
    )  # fmt: skip
    assert chunk["end_ns"] - chunk["begin_ns"] == 60 * _NS_PER_MS


def test_chunks_count_on(log: step_log.StepLogWriter) -> None:
    marked(log, 10, 10)
    chunks(log)
    marked(log, 10, begin_ms=100)
    assert [one["chunk"]["first"] for one in chunks(log)] == [0, 2]


def test_a_full_disk_loses_chunks_and_ends_nothing(
    log: step_log.StepLogWriter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write = os.write

    def full(file: int, line: bytes) -> int:
        raise OSError(28, "No space left on device")

    for number, takes in enumerate((write, lambda file, line: write(file, line[:50]), full, write)):
        monkeypatch.setattr(os, "write", takes)
        marked(log, 10, begin_ms=1 + 10 * number)
        log.flush()
    found = [parsed(line) for line in log._path.read_bytes().splitlines()]
    assert [None if one is None else one["chunk"]["first"] for one in found] == [0, None, 3]
    assert caplog.text.count("Steps are missing") == 1


def test_summaries_are_those_of_the_lines(log: step_log.StepLogWriter) -> None:
    for number in range(3):
        marked(log, 10, 20, begin_ms=1 + 40 * number)
        log.flush()
        if number == 1:
            # As a write that found the disk full leaves it.
            os.write(log._summaries, b"cut")
    beside = log._path.with_suffix(SUMMARY_ENDING).read_bytes()
    found = summaries_in(beside)
    lines = [parsed(line) for line in log._path.read_bytes().splitlines()]
    for name in ("begin_ns", "end_ns", "first", "steps", "sum_us", "wait_us", "cpu_us", "memory"):
        assert found[name].tolist() == [line["chunk"][name] for line in lines if line]
    assert found["cpu_us"].sum() > 0
    # A log without summaries is summarised.
    (before,) = read_summaries(log._path)
    log._path.with_suffix(SUMMARY_ENDING).unlink()
    with log._path.open("ab") as file:
        file.write(b'{"stepscope_steps":1,"crc":"torn')
    (after,) = read_summaries(log._path)
    assert after.records.tolist() == before.records.tolist()
    assert after.host == before.host != ""


def test_short_steps_are_put_together(log: step_log.StepLogWriter) -> None:
    marked(log, *[1.0] * 2_050, 9.0)
    (found,) = chunks(log)
    rows = found["rows"]
    assert len(rows["steps"]) <= 100
    assert sum(rows["steps"]) == 2_051
    assert sum(rows["sum_us"]) == 2_059_000
    assert rows["max_us"][-1] == 9_000


def test_the_surest_source_is_kept(log: step_log.StepLogWriter) -> None:
    for end in (10, 20, 30):
        log._heard(step_clock.FUNCTION, 7, 0, end * _NS_PER_MS)
    marked(log, 5, 5, begin_ms=40)
    log._heard(step_clock.FUNCTION, 7, 0, 60 * _NS_PER_MS)
    (found,) = chunks(log)
    assert found["chunk"]["source"] == step_clock.MARKER
    assert found["rows"]["sum_us"] == [5_000, 5_000]


def test_steps_without_a_marker_last_from_one_to_the_next(log: step_log.StepLogWriter) -> None:
    for end in (10, 20, 35):
        log._heard(step_clock.OPTIMIZER, 1, 0, end * _NS_PER_MS)
        log._heard(step_clock.OPTIMIZER, 2, 0, (end + 1) * _NS_PER_MS)  # a second optimizer
    (found,) = chunks(log)
    assert found["rows"]["sum_us"] == [10_000, 15_000]


def test_values_belong_to_the_step_that_runs(log: step_log.StepLogWriter) -> None:
    log.note("loss", 4.0)
    marked(log, 10)
    log.note("loss", 2.0)
    log.note("name", "text")
    log.note("bad", float("nan"))
    marked(log, 10, begin_ms=20)
    (found,) = chunks(log)
    assert found["values"] == {"loss": [[0, 4.0], [1, 2.0]]}


def test_annotations_of_steps_are_heard_while_nothing_records(log: step_log.StepLogWriter) -> None:
    for number in range(3):
        with stepscope.step(number), stepscope.Trace("inner"):
            pass
    (found,) = chunks(log)
    assert found["chunk"]["steps"] == 3
    step_clock.waited_for_input(0)


def test_ranks_have_files_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    assert step_log.rank_path(Path("/runs/a.steps")) == Path("/runs/a-rank3.steps")


def test_a_log_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CaptureError, match="step log cannot be written"):
        step_log.StepLogWriter(tmp_path / "file" / "run.steps")


_LOOP = """
import stepscope, time
stepscope.init(log="run.steps")
number = 0
while True:
    with stepscope.step(number):
        time.sleep(0.001)
        stepscope.note(loss=1.0)
    number += 1
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_a_killed_process_leaves_whole_chunks(tmp_path: Path) -> None:
    log = tmp_path / "run.steps"
    process = subprocess.Popen([sys.executable, "-c", _LOOP], cwd=tmp_path)
    try:
        while not log.is_file() or log.read_bytes().count(b"\n") < 2:
            assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    found = stepscope.open(log).run("step_log").to_dict()
    assert found["steps"] > 0
    assert json.dumps(found["course"]).count("loss 1") > 0
