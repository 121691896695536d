"""Step logs: chunks, torn lines, several processes, and what tools show of them."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis.step_log import StepLog
from stepscope.errors import DecodeError, StepscopeError


def chunk(
    lengths_us: list[int],
    first: int = 0,
    *,
    group: int = 1,
    wait_us: int = 0,
    values: dict[str, list[list[float]]] | None = None,
    devices: dict[str, float] | None = None,
    **more: Any,
) -> bytes:
    """A line, with rows one after the other."""
    begins = [sum(lengths_us[:number]) for number in range(len(lengths_us))]
    count = len(lengths_us)
    body = {
        "chunk": {
            "host": "h", "process": 7, "source": "step markers", "first": first,
            "begin_ns": 10**18 + first * 10**7, "memory": 1 << 20, **more,
        },
        "rows": {
            "steps": [group] * count,
            "begin_us": begins,
            "sum_us": lengths_us,
            "max_us": lengths_us,
            "wait_us": [wait_us] * count,
        },
        "values": values or {"loss": [[0, 0.5]]},
        "devices": devices or {},
    }  # fmt: skip
    text = json.dumps(body, separators=(",", ":"))[1:].encode()
    return b'{"stepscope_steps":1,"crc":"%08x",%s\n' % (zlib.crc32(text), text)


def told(path: Path) -> StepLog:
    found = stepscope.open(path).run("step_log")
    assert isinstance(found, StepLog)
    return found


def test_chunks_are_one_run(tmp_path: Path) -> None:
    log = tmp_path / "run.steps"
    log.write_bytes(chunk([10_000] * 5, wait_us=1_000) + chunk([20_000] * 5, 5))
    found = told(log)
    assert (found.steps, found.longest_ms) == (10, 20.0)
    assert found.mean_ms == pytest.approx(15.0)
    assert found.input_wait_frac == pytest.approx(5 / 150)
    rows = list(found.course.records())
    assert [row.first_step for row in rows] == list(range(10))
    assert rows[0].values == "loss 0.5"
    # Each step is by itself: tools that ask for steps have them.
    assert stepscope.open(log).overview_page().steps.time_ms.mean == pytest.approx(15.0)


def test_torn_and_damaged_lines_are_left_out(tmp_path: Path) -> None:
    log = tmp_path / "run.steps"
    whole, damaged = chunk([10_000] * 3), bytearray(chunk([10_000] * 3, 3))
    damaged[-20] ^= 1
    log.write_bytes(whole + bytes(damaged) + chunk([10_000] * 3, 6) + chunk([10_000], 9)[:-40])
    session = stepscope.open(log)
    assert session.run("step_log").to_dict()["steps"] == 6
    notes = " ".join(session.overview_page().completeness.notes)
    assert "2 lines are broken" in notes and "3 steps are missing" in notes


def test_a_log_without_a_whole_line_says_so(tmp_path: Path) -> None:
    (tmp_path / "run.steps").write_bytes(chunk([10_000])[:-30])
    with pytest.raises(StepscopeError, match="without steps"):
        stepscope.open(tmp_path / "run.steps").run("step_log")


@pytest.mark.parametrize(
    "change",
    [
        {"rows": None},
        {"rows": {}},
        {"chunk": []},
        {"values": 3},
    ],
)
def test_chunks_of_another_shape_are_broken(tmp_path: Path, change: dict[str, Any]) -> None:
    body = json.loads(b"{" + chunk([1]).partition(b",")[2].partition(b",")[2]) | change
    text = json.dumps(body)[1:].encode()
    line = b'{"stepscope_steps":1,"crc":"%08x",%s\n' % (zlib.crc32(text), text)
    (tmp_path / "run.steps").write_bytes(line + chunk([10_000] * 4))
    assert told(tmp_path / "run.steps").steps == 4


def test_steps_put_together_count_each(tmp_path: Path) -> None:
    log = tmp_path / "run.steps"
    log.write_bytes(chunk([10_000] * 5, group=10))
    found = told(log)
    assert (found.steps, found.median_ms) == (50, 1.0)
    assert found.mean_ms == pytest.approx(1.0)


def test_processes_of_one_file_are_apart(tmp_path: Path) -> None:
    log = tmp_path / "run.steps"
    log.write_bytes(chunk([10_000] * 5, rank=0) + chunk([30_000] * 5, rank=1))
    found = told(log)
    assert {row.process for row in found.course.records()} == {"rank 0", "rank 1"}


def test_files_of_ranks_are_one_run(tmp_path: Path) -> None:
    for rank in range(3):
        (tmp_path / f"run-rank{rank}.steps").write_bytes(chunk([10_000] * 5, rank=rank))
    assert told(tmp_path).steps == 15


def test_a_lasting_change_is_found_with_what_moved(tmp_path: Path) -> None:
    before, after = [9_990, 10_000, 10_010] * 100, [10_990, 11_000, 11_010] * 30
    log = tmp_path / "run.steps"
    log.write_bytes(chunk(before) + chunk(after, 300, wait_us=900))
    found = told(log)
    (change,) = found.changes.records()
    assert (change.step, change.moved_with) == (300, "input wait")
    assert change.seen_after <= 50
    assert change.delta_frac == pytest.approx(0.1, abs=0.01)
    assert found.headline == ("390 steps, 10 ms each; 10 % slower since step 300, with input wait.")


def measured(joules: float | None, first: int, throttled: int = 0) -> bytes:
    """A chunk of ten steps."""
    devices = {} if joules is None else {"GPU 0 energy": joules, "CPU package 0 energy": 1.0}
    return chunk([10_000] * 10, first, devices=devices | {"GPU 0 throttled": throttled})


def test_energy_is_of_the_steps_of_its_chunks(tmp_path: Path) -> None:
    log = tmp_path / "run.steps"
    joules = [None, 20.0, 24.0, 22.0, 22.0]
    log.write_bytes(b"".join(measured(one, 10 * at, at > 2) for at, one in enumerate(joules)))
    found = told(log)
    gpu, cpu = found.energy.records()
    # The first chunk has no energy: its steps do not count.
    assert (gpu.device, gpu.joules, gpu.step_joules) == ("GPU 0", 88.0, 2.2)
    assert gpu.error_joules == pytest.approx(2 * (8 / 3) ** 0.5 / 4**0.5 / 10)
    assert cpu.step_joules == 0.1 and cpu.capped_frac != cpu.capped_frac
    assert found.step_joules == pytest.approx(2.3)
    assert gpu.capped_frac == pytest.approx(0.4)
    (capped,) = (one for one in found.diagnostics if one.slug == "clock-capped")
    assert capped.message.startswith("GPU 0 was throttled in 40 % of the readings")


def test_energy_per_sample_needs_the_samples_of_a_step(tmp_path: Path) -> None:
    log = tmp_path / "run.steps"
    samples = {"samples": [[0, 32.0]], "loss": [[0, 1.0]]}
    chunks = [
        chunk([10_000] * 10, 10 * at, values=samples, devices={"GPU 0 energy": 64.0})
        for at in range(3)
    ]
    log.write_bytes(b"".join(chunks))
    assert told(log).sample_joules == pytest.approx(0.2)
    log.write_bytes(chunk([10_000] * 10) + chunk([10_000] * 10, 10))
    found = told(log)
    assert found.step_joules != found.step_joules and not len(found.energy)


def test_a_change_names_the_clock_that_moved_with_it(tmp_path: Path) -> None:
    log = tmp_path / "run.steps"
    clocks = [1980.0] * 40 + [1410.0] * 40
    log.write_bytes(
        b"".join(
            chunk(
                [10_000 if clock > 1500 else 13_000] * 10,
                10 * at,
                devices={"GPU 0 SM clock": clock},
            )
            for at, clock in enumerate(clocks)
        )
    )
    (change,) = told(log).changes.records()
    assert (change.step, change.moved_with) == (400, "GPU 0 SM clock")


def test_unequal_columns_are_no_chunk(tmp_path: Path) -> None:
    (tmp_path / "run.steps").write_bytes(b"nothing of the kind\n")
    with pytest.raises((DecodeError, StepscopeError)):
        stepscope.open(tmp_path / "run.steps").run("step_log")
