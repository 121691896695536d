"""The soak serves as many runs as it says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.soak import held, lay_out
from stepscope.store import find
from tests.profiles import worked_example


def test_recordings_in_turn_make_as_many_runs(tmp_path: Path) -> None:
    one, other = tmp_path / "a.xplane.pb", tmp_path / "b.xplane.pb"
    one.write_bytes(worked_example())
    other.write_bytes(worked_example(gpu=True))
    lay_out([one, other], tmp_path / "logs", 5)
    hosts = sorted(source.host for run in find(tmp_path / "logs").runs for source in run.sources)
    assert hosts == ["a", "a", "a", "b", "b"]


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="this system has no /proc")
def test_what_a_process_holds_is_told() -> None:
    before = held(os.getpid())[1]
    with Path(__file__).open("rb"):
        memory_mb, files = held(os.getpid())
    assert memory_mb > 1
    assert files == before + 1
