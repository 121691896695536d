"""Real jobs of four processes on this machine, one of which is slow: named, with what it costs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
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

pytestmark = [pytest.mark.framework_torch, pytest.mark.measured, pytest.mark.slow]


def job(folder: Path, fault: str) -> float:
    """Run all ranks; the mean step, ms."""
    folder.mkdir()
    ranks, errors = [], [folder / f"rank{number}.stderr" for number in range(WORLD)]
    for number, error in enumerate(errors):
        with error.open("w") as stderr:
            ranks.append(
                subprocess.Popen(
                    [
                        *(sys.executable, "-m", "tests.live.gloo_job"),
                        *(str(number), str(WORLD), str(folder), fault, str(SLOW)),
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
        means = [rank.stdout.readline() for rank in ranks if rank.stdout]
        for rank in ranks:
            rank.communicate()
    finally:
        too_long.cancel()
        kill()
    assert all(rank.returncode == 0 for rank in ranks), [error.read_text() for error in errors]
    return max(float(mean) for mean in means)


def pod(folder: Path) -> Pod:
    with stepscope.open(folder) as session:
        return session.pod(engine="here", keep="no")


@pytest.fixture(scope="module")
def healthy_ms(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The mean step of the job without a fault."""
    return job(tmp_path_factory.mktemp("pod") / "healthy", "none")


@pytest.mark.parametrize(
    ("fault", "causes"),
    [("sleeping", {"host"}), ("throttled", {"host", "compute", "unequal"}), ("starved", {"input"})],
)
def test_the_slow_process_is_named_with_what_it_costs(
    tmp_path: Path, healthy_ms: float, fault: str, causes: set[str]
) -> None:
    wrong = []
    for attempt in range(TRIES):
        healthy = job(tmp_path / f"healthy{attempt}", "none") if attempt else healthy_ms
        faulty = job(tmp_path / f"faulty{attempt}", fault)
        rows = list(pod(tmp_path / f"faulty{attempt}").suspects.rows())
        cost = faulty - healthy
        is_named = rows and rows[0]["name"] == f"rank{SLOW}" and rows[0]["cause"] in causes
        if is_named and rows[0]["saving_ms"] == pytest.approx(cost, rel=0.2):
            return
        wrong.append((cost, rows[:2]))
    pytest.fail(f"three times wrong: {wrong}")
