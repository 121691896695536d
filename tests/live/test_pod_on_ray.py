"""Pods on a Ray cluster of three nodes: killed workers, a lost node, a driver that dies half-way.

Needs Ray (extra ``pods``), which brings its own daemons: an environment of its own.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import stepscope
from stepscope.session import pod as pods
from stepscope.store.found import Source
from tests.unit.session.test_pod_session import job
from tests.unit.summary.traces import trace

cluster_utils = pytest.importorskip("ray.cluster_utils", reason="needs Ray")

pytestmark = [pytest.mark.slow]

ROOT = Path(__file__).parents[2]
NODES = 3
STORE_BYTES = 78_643_200
RANKS = 24
EVERY_S = 5.0
TASK_S = 1.0


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Three raylets of one processor each."""
    import ray

    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    monkeypatch.setenv("PYTHONPATH", paths)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = cluster_utils.Cluster()
    for _ in range(NODES):
        found.add_node(num_cpus=1, object_store_memory=STORE_BYTES)
    ray.init(address=found.address, log_to_driver=False)
    monkeypatch.setenv("RAY_ADDRESS", found.address)
    try:
        yield found
    finally:
        ray.shutdown()
        found.shutdown()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The four ranks of the other tests and twenty more."""
    folder = job(tmp_path / "run")
    for rank in range(4, RANKS):
        (folder / f"rank{rank}.pt.trace.json").write_text(json.dumps(trace(rank)))
    return folder


def slowly(source: Source) -> bytes:
    """The summary, in a task that takes long enough to be killed, noted by its process."""
    mark = Path(os.environ["XDG_CACHE_HOME"]).parent / "tasks"
    mark.mkdir(exist_ok=True)
    note = mark / f"{source.host}-{os.getpid()}-{time.monotonic_ns()}"
    note.touch()
    time.sleep(TASK_S)
    data = pods.summary_of(source)
    note.rename(note.with_suffix(".done"))
    return data


def pod(folder: Path, engine: str, keep: Any = "no") -> str:
    with stepscope.open(folder) as session:
        return json.dumps(session.pod(engine=engine, keep=keep).to_dict())


def test_workers_killed_and_a_node_lost_change_no_bit(
    cluster: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = pod(folder, "here")
    nodes = list(cluster.worker_nodes)
    done, killed = Event(), []
    tasks = tmp_path / "tasks"

    def trouble() -> None:
        dice = random.Random(1)
        lost = False
        while not done.wait(EVERY_S):
            under_way = [one for one in tasks.glob("*-*-*") if one.suffix != ".done"]
            alive = [pid for one in under_way if _is_alive(pid := int(one.name.split("-")[1]))]
            if alive:
                killed.append(dice.choice(alive))
                os.kill(killed[-1], signal.SIGKILL)
            if not lost and len(killed) == 2:
                cluster.remove_node(nodes[-1], allow_graceful=False)
                lost = True

    monkeypatch.setattr(pods, "summary_of", slowly)
    Thread(target=trouble, daemon=True).start()
    try:
        assert pod(folder, "ray") == undisturbed
    finally:
        done.set()
    assert len(killed) >= 2
    begun = len(list(tasks.iterdir()))
    # What was lost is done again, and nothing else: at most what was under way each time.
    assert begun <= RANKS + len(killed) + 2


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


_DRIVER = """
import sys
from pathlib import Path
from tests.live.test_pod_on_ray import pod, pods, slowly
pods.summary_of = slowly
print(pod(Path(sys.argv[1]), "ray", "cache"))
"""


def test_a_driver_killed_half_way_goes_on_where_it_was(
    cluster: Any, folder: Path, tmp_path: Path
) -> None:
    undisturbed = pod(folder, "here")
    tasks = tmp_path / "tasks"
    command = [sys.executable, "-c", _DRIVER, str(folder)]
    first = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    kept = tmp_path / "cache" / "stepscope" / "summaries"
    deadline = time.monotonic() + 120
    while len(list(kept.glob("*/*"))) < RANKS // 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    first.kill()
    first.wait()
    half = len(list(kept.glob("*/*")))
    assert RANKS // 2 <= half < RANKS
    for one in tasks.iterdir():
        one.unlink(missing_ok=True)
    again = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    assert again.stdout.strip() == undisturbed
    # Nothing that was kept is done again; tasks of the first driver may still have ended.
    assert len(list(tasks.iterdir())) <= RANKS - half + NODES
