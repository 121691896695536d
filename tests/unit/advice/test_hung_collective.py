"""The rule about ranks that others wait for, asked about dumps of NCCL's flight recorder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.formats import FORMATS
from stepscope.registry import Silence, Unknown
from stepscope.store import read_pieces
from stepscope.tables.core.profile import Host, Profile
from tests.unit.advice.asking import Asked
from tests.unit.formats.nccl.dumps import dump, entry, write_dumps

RULE = "hung-collective"


def asked(folder: Path, *ranks: dict[str, Any]) -> Asked:
    write_dumps(folder, *ranks)
    format_ = FORMATS["nccl-flight"]
    hosts = []
    for rank in range(len(ranks)):
        path = str(folder / f"nccl_trace_rank_{rank}")
        hosts.append(Host(f"rank{rank}", format_.open(read_pieces(path), path)))
    return Asked(Profile("s", tuple(hosts)))


def finished(count: int, late_ms: float = 0.0) -> dict[str, Any]:
    return dump([entry(n, 100.0 * n + late_ms) for n in range(1, count + 1)], 3)


def test_the_missing_rank_and_its_last_call_are_named(tmp_path: Path) -> None:
    waits = dump([entry(1, 0), entry(2, 1, "started")], 3)
    found = asked(tmp_path, waits, dump([entry(1, 0)], 3), waits).finding(RULE)
    assert found.severity == "high"
    assert found.measured["missing"] == "rank 1"


def test_the_rank_that_calls_something_else_is_named(tmp_path: Path) -> None:
    one = dump([entry(1, 0, "started")], 3)
    other = dump([entry(1, 0, "started", profiling_name="nccl:broadcast")], 3)
    found = asked(tmp_path, one, one, other).finding(RULE)
    assert "missing" not in found.measured


def test_a_rank_that_is_last_in_every_collective_is_named(tmp_path: Path) -> None:
    found = asked(tmp_path, finished(12), finished(12, 5.0), finished(12, 0.5)).finding(RULE)
    assert found.severity == "medium"
    assert found.measured["late_ms"] == pytest.approx(12 * 4.5)


@pytest.mark.parametrize(("count", "late_ms"), [(9, 5.0), (12, 0.5), (12, 0.0)])
def test_few_collectives_and_short_delays_accuse_nobody(
    tmp_path: Path, count: int, late_ms: float
) -> None:
    found = asked(tmp_path, finished(count), finished(count, late_ms), finished(count))
    assert "had finished" in found.reason(RULE, Silence)


def test_a_collective_that_all_ranks_are_in_may_still_be_running(tmp_path: Path) -> None:
    running = dump([entry(1, 0, "started")], 2)
    said = asked(tmp_path, running, running).reason(RULE, Unknown)
    assert said.startswith("All ranks called all_reduce #1")


def test_a_rank_without_a_dump_is_not_accused(tmp_path: Path) -> None:
    running = dump([entry(1, 0, "started")], 3)
    assert "left none" in asked(tmp_path, running, running).reason(RULE, Unknown)
