"""A pod from files: each read once, kept, and named where it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.errors import StoreError
from stepscope.pod.report import Pod
from stepscope.session import pod as pods
from stepscope.session import together
from stepscope.session.together import TooManyTogether
from stepscope.store import kept
from stepscope.store.found import Source
from stepscope.summary.build import summarise
from stepscope.surfaces.cli.commands.advise import advise
from tests.unit.summary.traces import trace

SLOW_US = 1500.0


def pod(path: Path | str, **how: Any) -> Pod:
    with stepscope.open(path) as session:
        return session.pod(**how)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def late(found: dict[str, Any], wait_us: float) -> dict[str, Any]:
    """This rank waits for rank 3 in the collective of all: its own comes as much later."""
    for event in found["traceEvents"]:
        if "AllGather" in event["name"]:
            event["dur"] += wait_us
    return found


def job(folder: Path) -> Path:
    """Four ranks; rank 3 comes ``SLOW_US`` late to what all do, so the others stay in it longer."""
    folder.mkdir()
    for rank in range(4):
        found = trace(rank)
        if rank == 3:
            for event in found["traceEvents"]:
                if "AllGather" in event["name"]:
                    event["ts"] += SLOW_US
                if event["name"] == "gemm" and event["dur"] == 3000:
                    event["dur"] += SLOW_US
        else:
            found = late(found, SLOW_US)
        (folder / f"rank{rank}.pt.trace.json").write_text(json.dumps(found))
    return folder


@pytest.mark.parametrize("engine", ["here", "pool"])
def test_the_slow_rank_is_named_with_what_it_costs(tmp_path: Path, engine: str) -> None:
    found = pod(job(tmp_path / "run"), engine=engine)
    first = next(found.suspects.rows())
    assert first["name"] == "rank3"
    assert first["cost_ms"] == pytest.approx(SLOW_US / 1e3, rel=0.01)
    assert first["saving_ms"] == pytest.approx(SLOW_US / 1e3, rel=0.01)
    assert first["cause"] == "compute"
    assert "rank3 costs 1.5 ms" in found.headline


def test_what_is_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = job(tmp_path / "run")
    first = pod(folder, engine="here")
    read: list[str] = []
    real = pods.summary_of

    def noted(source: Source) -> bytes:
        read.append(source.host)
        return real(source)

    monkeypatch.setattr(pods, "summary_of", noted)
    assert pod(folder, engine="here").to_dict() == first.to_dict()
    assert read == []
    path = folder / "rank2.pt.trace.json"
    path.write_text(path.read_text() + " ")
    assert pod(folder, engine="here").to_dict() == first.to_dict()
    assert read == ["rank2"]


def test_summaries_are_kept_beside_the_recordings_if_asked(tmp_path: Path, cache: Path) -> None:
    folder = job(tmp_path / "run")
    first = pod(folder, keep="beside")
    assert len(list((folder / ".stepscope").iterdir())) == 4
    assert not cache.exists()
    assert pod(folder, keep="beside").to_dict() == first.to_dict()


def test_a_damaged_summary_is_made_again(tmp_path: Path, cache: Path) -> None:
    folder = job(tmp_path / "run")
    first = pod(folder)
    for path in cache.rglob("*.stepscope-summary"):
        path.write_bytes(path.read_bytes()[:100])
    assert pod(folder).to_dict() == first.to_dict()


def test_a_recording_that_does_not_open_is_named_and_the_others_count(tmp_path: Path) -> None:
    folder = job(tmp_path / "run")
    whole = (folder / "rank1.pt.trace.json").read_text()
    (folder / "rank1.pt.trace.json").write_text(whole[:300] + "\x00" * 50)
    found = pod(folder, engine="here")
    assert found.recordings < 4 or found.diagnostics
    assert next(found.suspects.rows())["name"] == "rank3"


def test_ranks_without_a_recording_are_named_first(tmp_path: Path) -> None:
    folder = job(tmp_path / "run")
    (folder / "rank1.pt.trace.json").unlink()
    found = pod(folder, engine="here")
    assert found.diagnostics[0].message == "1 of 4 recordings are missing: rank 1."


def test_a_recording_written_while_it_is_read_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = job(tmp_path / "run")
    path = folder / "rank0.pt.trace.json"
    real = summarise

    def meanwhile(*args: Any, **how: Any) -> Any:
        path.write_text(path.read_text() + "\n")
        return real(*args, **how)

    monkeypatch.setattr("stepscope.session.pod.summarise", meanwhile)
    with pytest.raises(StoreError, match="written while it was read"):
        pods.summary_of(Source(str(path), "rank0", path.stat().st_size, 0.0, "kineto"))


def test_the_oldest_of_the_cache_goes_first(tmp_path: Path, cache: Path) -> None:
    pod(job(tmp_path / "run"))
    paths = sorted(cache.rglob("*.stepscope-summary"), key=lambda path: path.stat().st_mtime)
    sizes = [path.stat().st_size for path in paths]
    kept.shrink(sum(sizes[-2:]))
    assert [path.exists() for path in paths] == [False, False, True, True]


def test_beside_a_bucket_nothing_is_kept() -> None:
    source = Source("memory://pod/rank0.json", "rank0", 10, 0.0)
    with pytest.raises(StoreError, match="beside recordings behind a URL"):
        kept.Kept("beside", 1).check((source,))


def test_a_pod_behind_a_url_is_the_same_pod(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs the extra remote")
    folder = job(tmp_path / "run")
    memory = fsspec.filesystem("memory")
    for path in folder.iterdir():
        memory.pipe_file(f"/pod/run/{path.name}", path.read_bytes())
    try:
        remote = pod("memory://pod/run", engine="here").to_dict()
    finally:
        memory.rm("/pod", recursive=True)
    local = pod(folder, engine="here").to_dict()
    assert remote["suspects"] == local["suspects"]


def test_advice_on_a_folder_names_the_slow_rank(tmp_path: Path) -> None:
    with stepscope.open(job(tmp_path / "run")) as session:
        advice = session.advice()
    (found,) = [one for one in advice.findings if one.rule == "straggler"]
    assert found.measured["worker"] == "rank3"
    assert found.measured["cause"] == "compute"
    assert found.saving_ms == pytest.approx(SLOW_US / 1e3, rel=0.01)
    assert [one for one in advice.checked if one.outcome == "failed"] == []


def test_more_recordings_than_open_together_are_advised_about_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(together, "MOST_HOSTS", 2)
    folder = job(tmp_path / "run")
    with stepscope.open(folder) as session:
        advice = session.advice()
        with pytest.raises(TooManyTogether):
            session.run("overview_page")
    first = advice.findings[0]
    assert (first.rule, first.measured["worker"]) == ("straggler", "rank3")
    reasons = {one.rule: one.reason for one in advice.checked if one.outcome == "unknown"}
    assert "too many to open together" in reasons["input-bound"]
    advise([str(folder)], standalone_mode=False)
    assert "rank3 makes all others wait" in " ".join(capsys.readouterr().out.split())
