"""Steps per worker against the incumbent's answers on real profiles without devices.

Accepted differences:

* profiles with devices are not compared: the incumbent shows one pseudo core per host, and its
  GPU steps leave out the host (reference §12.1, §12.13);
* host compute and others are compared in sum: the incumbent calls it compute when a thread only
  waits for another (``ThunkExecutor::Execute (wait …)``); we call that others.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from stepscope.analysis.pod_viewer import pod_viewer
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile

SHARED = Path(__file__).parents[3] / "shared"


def _read(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.parametrize("folder", ["tf-cpu-custom-loop-2M", "tf-cpu-python-tracer", "jax-cpu"])
def test_steps_of_the_host_equal_the_incumbents(folder: str) -> None:
    if not SHARED.exists():
        pytest.skip("the shared real profiles are not on this machine")
    (answer,) = (SHARED / "oracle" / folder).glob("pod_viewer.json*")
    steps = json.loads(_read(answer))["podStatsSequence"]["podStatsMap"]
    theirs = {step["stepNum"]: step["podStatsPerCore"]["1"] for step in steps}
    (file,) = (SHARED / "data" / "xplane" / folder).glob("*.pb*")
    found = pod_viewer(Profile("s", (Host("h", decode(_read(file))),)))
    ours = {row["step_num"]: row for row in found.pod.rows()}
    assert theirs.keys() <= ours.keys()
    for number, step in theirs.items():
        row = ours[number]
        assert row["step_time_ms"] * 1e3 == pytest.approx(step["totalDurationUs"], abs=1e-2)
        theirs_us = step["stepBreakdownUs"]
        assert row["input_ms"] * 1e3 == pytest.approx(theirs_us["6"], abs=1e-2)
        parts = ("host_compute_ms", "host_wait_ms", "other_ms", "compilation_ms")
        host = sum(row[part] for part in parts) * 1e3
        assert host == pytest.approx(theirs_us["4"] + theirs_us["9"] + theirs_us["8"], abs=1e-2)
