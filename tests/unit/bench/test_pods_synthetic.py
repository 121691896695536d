"""Recordings of simulated jobs that no disk holds: listed truly, all different."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

pytest.importorskip("fsspec", reason="needs the extra remote")

import fsspec

import stepscope
from bench.pods.synthetic import SyntheticJob, job, summary_of
from stepscope.engine import Done, run
from stepscope.errors import StoreError
from stepscope.store import find
from stepscope.summary.encode import decode

JOB = "hosts=16,fault=gpu_throttled,size=0.4,seed=3"


def test_every_file_has_the_listed_size_and_other_bytes() -> None:
    system = fsspec.filesystem("synth")
    files = system.find(JOB, detail=True)
    data = {name: system.cat_file(name) for name in files}
    assert len(files) == 16
    assert {len(one) for one in data.values()} == {one["size"] for one in files.values()}
    assert len(set(data.values())) == 16
    name, whole = next(iter(data.items()))
    assert system.cat_file(name, 100, 200) == whole[100:200]


def test_the_same_settings_make_the_same_bytes() -> None:
    assert SyntheticJob(JOB).trace(5) == SyntheticJob(JOB).trace(5)
    assert SyntheticJob(JOB).trace(5) != SyntheticJob(JOB.replace("seed=3", "seed=4")).trace(5)


def test_no_kernel_of_a_stream_overlaps_the_next() -> None:
    events = json.loads(job(JOB).trace(5))["traceEvents"]
    kernels = [event for event in events if event["cat"] == "kernel"]
    for one, other in pairwise(kernels):
        assert one["ts"] + one["dur"] <= other["ts"] + 0.002
        assert one["dur"] > 0


def test_the_planted_rank_is_named_through_the_whole_way_from_the_url() -> None:
    truth = job(JOB).truth
    assert truth is not None
    with stepscope.open(f"synth://{JOB}") as session:
        pod = session.pod(engine="here", keep="no")
    (rank,) = truth.units
    first = next(pod.suspects.rows())
    assert (first["name"], first["cause"]) == (f"rank{rank}", "compute")
    assert (pod.recordings, pod.expected) == (16, 16)
    assert pod.step_ms == pytest.approx(job(JOB).step_ms, rel=1e-3)


def test_other_processes_read_them_too() -> None:
    (found,) = find("synth://hosts=4").runs
    outcomes = list(
        run(found.sources, summary_of, engine="pool", bytes_of=lambda one: one.size_bytes, width=2)
    )
    assert len(outcomes) == 4
    for one in outcomes:
        assert isinstance(one, Done)
        assert decode(one.answer) is not None


def test_what_there_is_not_is_not_found() -> None:
    with pytest.raises(StoreError):
        find("synth://colour=red")
    with pytest.raises(FileNotFoundError):
        fsspec.filesystem("synth").cat_file(f"{JOB}/rank00099.pt.trace.json")
