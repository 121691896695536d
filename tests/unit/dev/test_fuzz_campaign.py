"""The campaign: targets, what is kept, and what becomes of a worker that dies."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fuzz import worker as worker_module
from fuzz.campaign import Campaign, _by_reader
from fuzz.ledger import RUNNING, added, ledgers, on_record, record, settle
from fuzz.program import run_of, small_program
from fuzz.target import Target
from fuzz.targets import TARGETS
from fuzz.targets.programs import TARGET as PROGRAMS
from fuzz.worker import Worker
from stepscope.formats import FORMATS
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.hlo.module import parse_module
from stepscope.tables.hlo.recorded_ops import recorded_ops


def test_the_shares_of_the_targets_add_up() -> None:
    assert sum(target.share for target in TARGETS) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_seeds_and_a_few_mutations_pass(target: Target) -> None:
    rng, seeds = random.Random(1), target.seeds(None)
    tries = 2 if target.name == "tools" else 15
    for seed in seeds[:tries]:
        assert target.attempt(seed)
    for _ in range(tries):
        target.attempt(target.mutate(rng, rng.choice(seeds)))


def test_an_empty_input_is_tried_and_not_mutated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the inputs come of what was kept: of nothing none can come."""
    inputs = iter([b"", b"abc", b"", b"abc"])

    def mutate(_rng: random.Random, seed: bytes) -> bytes:
        assert seed
        return next(inputs)

    target = replace(
        TARGETS[0], seeds=lambda _: [b"seed"], mutate=mutate, attempt=lambda data: str(len(data))
    )
    monkeypatch.setattr(worker_module, "TARGETS", (target,))
    corpus = tmp_path / "corpus" / target.name
    corpus.mkdir(parents=True)
    (corpus / "kept-0").touch()  # as campaigns before this one did
    worker = Worker(tmp_path, tmp_path / "ledger.json", None, seed=0)
    for _ in range(4):
        worker._try(target)
    assert (worker.counts[target.name], worker.failed) == (4, 0)
    assert {one.name[-2:] for one in corpus.iterdir()} == {"-0", "-3"}
    assert worker.kept[target.name] == {"": [b"abc"]}


def test_new_outcomes_and_failures_are_kept_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(data: bytes) -> str:
        assert data != b"bad"
        return "long" if len(data) > 2 else "short"

    inputs = iter([b"abc", b"abcd", b"bad", b"bad", b"a"])
    target = replace(
        TARGETS[0],
        seeds=lambda _: [b"seed"],
        mutate=lambda _rng, _seed: next(inputs),
        attempt=attempt,
    )
    monkeypatch.setattr(worker_module, "TARGETS", (target,))
    worker = Worker(tmp_path, tmp_path / "ledger.json", None, seed=0)
    for _ in range(5):
        worker._try(target)
    kept = sorted(one.read_bytes() for one in (tmp_path / "corpus" / target.name).iterdir())
    assert kept == [b"a", b"abc"]
    failures = [one for one in (tmp_path / "failures").iterdir() if one.suffix != ".txt"]
    assert [one.read_bytes() for one in failures] == [b"bad"]
    assert (worker.counts[target.name], worker.failed) == (5, 2)
    # A later worker goes on with what was kept.
    again = Worker(tmp_path, tmp_path / "ledger.json", None, seed=1)
    assert again.seeds[target.name][""] == [b"seed"]
    assert set(again.kept[target.name][""]) == {b"a", b"abc"}


def test_each_reader_gets_as_many_inputs_whatever_its_seeds_weigh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(3)
    target = replace(
        TARGETS[0],
        seeds=lambda _: [b"a" * 9000, b"b" * 9000, b"b" * 5000, b"b", b"c", b"nobody's"],
        # A third of the inputs is nobody's.
        mutate=lambda _rng, seed: seed if rng.random() < 2 / 3 else b"x",
        attempt=lambda data: f"of {data[:1]!r}",
        kind=lambda data: data[:1].decode() if data[:1] in (b"a", b"b", b"c") else "",
    )
    monkeypatch.setattr(worker_module, "TARGETS", (target,))
    worker = Worker(tmp_path, tmp_path / "ledger.json", None, seed=0)
    while min(worker.readers.get(kind, 0) for kind in "abc") < 40:
        worker._try(target)
    assert max(worker.readers.values()) <= 41
    # What another worker did counts for the next.
    earlier = {"a": 20, "b": 15, "c": 5}
    said = {"counts": {}, "failed": 0, "readers": earlier, "opened": {}}
    (tmp_path / "earlier.json").write_text(json.dumps(said))
    worker = Worker(tmp_path, tmp_path / "ledger.json", None, seed=1)
    while sum(worker.readers.values()) < 20:
        worker._try(target)
    assert {kind: earlier[kind] + worker.readers.get(kind, 0) for kind in "abc"} == {
        "a": 20,
        "b": 20,
        "c": 20,
    }
    assert set(worker.seeds[target.name]) == {"a", "b", "c"}


def test_every_reader_of_other_tools_files_has_a_seed() -> None:
    imports = next(one for one in TARGETS if one.name == "imports")
    assert {imports.kind(seed) for seed in imports.seeds(None)} == {
        one.id for one in FORMATS.values() if one.is_table is None
    }


def test_the_input_that_a_worker_died_of_is_kept(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, dict(os.environ), [])
    (tmp_path / "current").write_bytes(b"decoder\nkiller\nbytes")
    campaign._keep_current("ended with -11")
    (kept,) = (tmp_path / "failures").glob("decoder-*[0-9]")
    assert kept.read_bytes() == b"killer\nbytes"
    assert campaign.killers == 1


def test_workers_account_for_what_they_tried_by_build(tmp_path: Path) -> None:
    ledgers(tmp_path).mkdir()
    for name, count in (("plain-1", 3), ("sanitized-1", 5), ("sanitized-2", 7)):
        said = {"counts": {"imports": count}, "failed": 1, "readers": {"gecko": count}}
        text = json.dumps(said | {"opened": {"gecko": count - 1}})
        (ledgers(tmp_path) / f"{name}.json").write_text(text)
    tried = added(ledgers(tmp_path).glob("sanitized-*.json"))
    assert (tried["counts"]["imports"], tried["failed"]["inputs"]) == (12, 2)
    assert _by_reader(tmp_path) == ["gecko: 12 sanitized (10 opened), 3 plain (2 opened)"]


def test_a_small_truncated_input_does_not_take_the_place_of_larger_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = replace(TARGETS[0], seeds=lambda _: [b"s" * 9000, b"s" * 90_000])
    monkeypatch.setattr(worker_module, "TARGETS", (target,))
    worker = Worker(tmp_path, tmp_path / "ledger.json", None, seed=0)
    worker.kept[target.name] = {"": [b"cut", b"k" * 500_000]}
    chosen = Counter(len(worker._seed(target, "")) for _ in range(1000))
    assert chosen[9000] > 400
    assert chosen[3] < 350
    assert 0 < chosen[90_000] + chosen[500_000] < 60


def test_what_was_tried_is_recorded_once(tmp_path: Path) -> None:
    def tried(name: str, gecko: int) -> None:
        said = {
            "counts": {"imports": gecko, "scanner": 7, "rpc": 0},
            "failed": 1,
            "readers": {"gecko": gecko, "": 3},
            "opened": {"gecko": 2, "": 0},
        }
        file = ledgers(tmp_path) / f"{name}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(said))

    file = tmp_path / "tried.jsonl"
    for gecko in (5, 20):
        tried("sanitized-1", gecko)
        tried("plain-1", 1000)
        for _ in range(2):
            record(tmp_path, file, build="sanitized", commit="abc", date="2026-11-23")
    first, second = map(json.loads, file.read_text("utf-8").splitlines())
    assert first["inputs"] == {"scanner": [7], "imports:gecko": [5, 2]}
    assert (second["failed"], second["commit"], second["build"]) == (1, "abc", "sanitized")
    assert on_record(file, "sanitized") == {"scanner": 14, "imports:gecko": 25}
    assert not on_record(file, "plain")


def test_what_a_worker_is_still_at_is_recorded_when_it_ended(tmp_path: Path) -> None:
    running = ledgers(tmp_path) / f"sanitized-1{RUNNING}"
    running.parent.mkdir()
    said: dict[str, object] = {"counts": {"rpc": 7}, "failed": 0, "readers": {}, "opened": {}}
    running.write_text(json.dumps(said))
    file = tmp_path / "tried.jsonl"
    settle(tmp_path, 60)  # written to a moment ago
    record(tmp_path, file, build="sanitized", commit="abc", date="2026-11-24")
    assert not on_record(file, "sanitized")
    settle(tmp_path, 0, running)
    record(tmp_path, file, build="sanitized", commit="abc", date="2026-11-24")
    assert on_record(file, "sanitized") == {"rpc": 7}


def test_the_program_to_mutate_reaches_what_reads_programs() -> None:
    """Its kernels lie in command buffers, between which only its schedule says what ran."""
    (host,) = Profile("s", (Host("h", decode(run_of(small_program()))),)).hosts
    found = recorded_ops(host)
    said = [found.texts[code] for code in found.codes.tolist()]
    assert {"slice", "mul_fusion", "add_fusion.2", "copy-start.1", "custom-call.1"} < set(said)
    broken = [parse_module(PROGRAMS.mutate(random.Random(at), small_program())) for at in range(40)]
    assert 0 < broken.count(None) < 20
