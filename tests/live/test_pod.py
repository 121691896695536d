"""Real jobs of four processes on this machine, one of which is slow: named, with what it costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

import stepscope
from stepscope.pod.report import Pod
from tests.measured import TRIES

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join([str(ROOT), str(ROOT / "src")])
WORLD = 4
SLOW = 2
LONGEST_S = 120.0
# Fault → what may be named as its cause.
CAUSES = {
    "sleeping": {"host"},
    "throttled": {"host", "compute", "unequal"},
    "starved": {"input"},
}
FAULTS = ("none", *CAUSES)

pytestmark = [pytest.mark.framework_torch, pytest.mark.measured, pytest.mark.slow]


def job(folder: Path) -> dict[str, float]:
    """Run all ranks once healthy and once with each fault; the mean step of each, ms."""
    for fault in FAULTS:
        (folder / fault).mkdir(parents=True)
    ranks, errors = [], [folder / f"rank{number}.stderr" for number in range(WORLD)]
    for number, error in enumerate(errors):
        with error.open("w") as stderr:
            ranks.append(
                subprocess.Popen(
                    [
                        *(sys.executable, "-m", "tests.live.gloo_job"),
                        *(str(number), str(WORLD), str(folder), str(SLOW)),
                    ],
                    cwd=ROOT,
                    env=os.environ | {"PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    text=True,
                )
            )

    def kill() -> None:
        for rank in ranks:
            rank.kill()

    too_long = threading.Timer(LONGEST_S, kill)
    too_long.start()
    try:
        printed = [rank.stdout.readline() for rank in ranks if rank.stdout]
        for rank in ranks:
            rank.communicate()
    finally:
        too_long.cancel()
        kill()
    assert all(rank.returncode == 0 for rank in ranks), [error.read_text() for error in errors]
    means = [json.loads(line) for line in printed]
    return {fault: max(mean[fault] for mean in means) for fault in FAULTS}


def pod(folder: Path) -> Pod:
    with stepscope.open(folder) as session:
        return session.pod(engine="here", keep="no")


def wrong_answers(folder: Path, faults: Iterable[str]) -> dict[str, str]:
    """Run the job; what is wrong with the answer about each of these faults."""
    steps_ms = job(folder)
    wrong = {}
    for fault in faults:
        cost_ms = steps_ms[fault] - steps_ms["none"]
        rows = list(pod(folder / fault).suspects.rows())
        is_named = rows and rows[0]["name"] == f"rank{SLOW}" and rows[0]["cause"] in CAUSES[fault]
        if not is_named or rows[0]["saving_ms"] != pytest.approx(cost_ms, rel=0.2):
            wrong[fault] = f"costs {cost_ms} ms, found {rows[:2]}"
    return wrong


def test_the_slow_process_is_named_with_what_it_costs(tmp_path: Path) -> None:
    wrong = dict.fromkeys(CAUSES, "")
    for attempt in range(TRIES):
        wrong = wrong_answers(tmp_path / str(attempt), wrong)
        if not wrong:
            return
    pytest.fail(f"three times wrong: {wrong}")
