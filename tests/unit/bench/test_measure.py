"""A process is measured as it is, and a failing one is an error with its output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.measure import ProcessFailed, measure
from tests.conftest import ROOT

HOLDS_200_MB = "import time; held = bytearray(b'x') * 200_000_000; time.sleep(0.3)"
MEASURE = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from bench.measure import measure
print(json.dumps(asdict(measure([sys.executable, "-c", sys.argv[1]], Path(sys.argv[2])))))
"""


def test_memory_and_time_of_a_process(tmp_path: Path) -> None:
    # In a process of its own, as the benchmark does: this one may hold more than what it measures.
    command = [sys.executable, "-c", MEASURE, HOLDS_200_MB, str(tmp_path / "log")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    run = json.loads(done.stdout)
    assert 200 < run["peak_mb"] < 300
    assert 0.3 < run["wall_s"] < 30
    assert 0 < run["cpu_s"] < run["wall_s"]


def test_a_failing_process_is_an_error_that_shows_its_output(tmp_path: Path) -> None:
    code = "print('the reason'); raise SystemExit(3)"
    with pytest.raises(ProcessFailed, match=r"ended with 3\n(.|\n)*the reason"):
        measure([sys.executable, "-c", code], tmp_path / "log")
