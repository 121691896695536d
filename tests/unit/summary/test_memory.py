"""How much a process holds that summarises one recording."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.pods.scale import recordings

EVENTS = 300_000
# What the system counts for a process that was started from this one begins again with its program.
PROGRAM = """
import sys
from bench.pods.summarise import main
failed = main()
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(status["VmHWM"].split()[0])
sys.exit(failed)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_a_worker_holds_its_interpreter_and_two_and_a_half_times_its_plane(tmp_path: Path) -> None:
    _, size = recordings(tmp_path, 1, events=EVENTS)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), "1", "here"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    peak_mb = int(said) * 1024 / 1e6
    assert 50 < peak_mb < 150 + 2.5 * size / 1e6
