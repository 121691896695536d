"""``python -m fuzz.worker``: tries inputs until its time is up; the campaign watches over it."""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import random
import sys
import time
import traceback
from pathlib import Path

from fuzz.ledger import added
from fuzz.target import Target
from fuzz.targets import TARGETS

_KEPT_PER_TARGET = 2000
_SLICE_S = 2.0
# What counts as small: so many bytes, or so many times the smallest seed of the reader.
_SMALL = 4096
_GROWTH = 4
_LARGE_FRAC = 0.02
_SEEDS_FRAC = 0.5
# How an outcome ends where a reader gave events, and did not refuse.
OPENED = ("sound", "told")


class Worker:
    """One process of the campaign.

    Args:
        folder: Where corpus, failures, the input under way and the counts are.
        ledger: What it has tried, kept up to date.
        corpus: Files to mutate besides.
        seed: Of the random numbers.
        readers: Only seeds that these take; empty for all.
    """

    def __init__(
        self,
        folder: Path,
        ledger: Path,
        corpus: Path | None,
        seed: int,
        readers: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder
        self.ledger = ledger
        self.before = added(ledger.parent.rglob("*.json"))["readers"]
        self.rng = random.Random(seed)
        self.counts = {target.name: 0 for target in TARGETS}
        self.readers: dict[str, int] = {}
        self.opened: dict[str, int] = {}
        self.outcomes: dict[str, set[str]] = {}
        self.seeds: dict[str, dict[str, list[bytes]]] = {}
        self.kept: dict[str, dict[str, list[bytes]]] = {}
        self.failed = 0
        self.unraisable: list[str] = []
        # A bound that the checked build finds violated deep in a kernel cannot be raised.
        sys.unraisablehook = lambda event: self.unraisable.append(repr(event.exc_value))
        for target in TARGETS:
            kept = sorted((folder / "corpus" / target.name).glob("*"))
            self.seeds[target.name] = _by_kind(target, target.seeds(corpus), readers)
            inputs = [one.read_bytes() for one in kept if one.stat().st_size]
            self.kept[target.name] = _by_kind(target, inputs)
            self.outcomes[target.name] = {one.name.partition("-")[0] for one in kept}

    def run(self, targets: tuple[Target, ...], until: float) -> None:
        """Try inputs of the targets in turn, by their shares, until then (monotonic time)."""
        spent = {target.name: 0.0 for target in targets}
        while time.monotonic() < until:
            target = min(targets, key=lambda one: spent[one.name] / one.share)
            began = time.monotonic()
            while time.monotonic() < min(began + _SLICE_S, until):
                self._try(target)
            spent[target.name] += time.monotonic() - began
            self._report()

    def _try(self, target: Target) -> None:
        kind = self._next_kind(target)
        data = target.mutate(self.rng, self._seed(target, kind))
        # Should this process die, the campaign finds what it died of.
        (self.folder / "current").write_bytes(target.name.encode() + b"\n" + data)
        began = time.process_time()
        try:
            outcome = target.attempt(data)
            took = time.process_time() - began
            assert took < target.slow_s, f"took {took:.1f} s of processor time"
            assert not self.unraisable, self.unraisable
        except Exception:
            outcome = "failed"
            self._keep_failure(target, data)
            self.unraisable.clear()
        else:
            self._keep(target, kind, data, outcome)
        self.counts[target.name] += 1
        if taken_by := target.kind(data):
            self.readers[taken_by] = self.readers.get(taken_by, 0) + 1
            opened = outcome.endswith(OPENED)
            self.opened[taken_by] = self.opened.get(taken_by, 0) + opened

    def _next_kind(self, target: Target) -> str:
        """The reader that has had the fewest inputs: mutations that none takes do not count.

        What earlier workers tried counts, too.
        """
        kinds = self.seeds[target.name]
        return min(kinds, key=lambda kind: self.before[kind] + self.readers.get(kind, 0))

    def _seed(self, target: Target, kind: str) -> bytes:
        """As often a seed as what came of one: most of that no reader gets far into.

        Mostly a small one: many of them are through in the time of a large one.
        """
        seeds, kept = self.seeds[target.name][kind], self.kept[target.name].get(kind, [])
        from_seed = not kept or self.rng.random() < _SEEDS_FRAC
        chosen = self.rng.choice(seeds if from_seed else kept)
        smallest = min(map(len, seeds))
        if len(chosen) <= max(_SMALL, _GROWTH * smallest) or self.rng.random() < _LARGE_FRAC:
            return chosen
        return self.rng.choice([seed for seed in seeds if len(seed) == smallest])

    def _keep(self, target: Target, kind: str, data: bytes, outcome: str) -> None:
        """Keep an input whose outcome is new; an empty one would leave nothing to mutate."""
        if not data:
            return
        name = hashlib.sha256(outcome.encode()).hexdigest()[:12]
        known = self.outcomes[target.name]
        if name in known or len(known) >= _KEPT_PER_TARGET:
            return
        known.add(name)
        self.kept[target.name].setdefault(kind, []).append(data)
        _write(self.folder / "corpus" / target.name, f"{name}-{len(data)}", data)

    def _keep_failure(self, target: Target, data: bytes) -> None:
        self.failed += 1
        text = traceback.format_exc()
        # One file per place where it failed: a thousand of one kind say no more than one.
        place = hashlib.sha256("".join(text.splitlines()[-4:-1]).encode()).hexdigest()[:12]
        folder = self.folder / "failures"
        if not (folder / f"{target.name}-{place}").exists():
            _write(folder, f"{target.name}-{place}", data)
            _write(folder, f"{target.name}-{place}.txt", text.encode())
            print(f"FAILED {folder / f'{target.name}-{place}'}\n{text}", flush=True)

    def _report(self) -> None:
        """Say what has been tried; if this process is killed, its last report is whole."""
        said = {
            "counts": self.counts,
            "failed": self.failed,
            "readers": self.readers,
            "opened": self.opened,
        }
        whole = self.ledger.with_suffix(".new")
        whole.write_text(json.dumps(said))
        whole.replace(self.ledger)


def _by_kind(
    target: Target, inputs: list[bytes], readers: tuple[str, ...] = ()
) -> dict[str, list[bytes]]:
    """The inputs by the reader that takes them; what no reader takes only where none takes any.

    With ``readers``, only those of them that the target has, where it has any.
    """
    found: dict[str, list[bytes]] = {}
    for data in inputs:
        found.setdefault(target.kind(data), []).append(data)
    if len(found) > 1:
        found.pop("", None)
    chosen = {kind: inputs for kind, inputs in found.items() if kind in readers}
    return chosen or found


def _write(folder: Path, name: str, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def main() -> int:
    """Run as the campaign orders."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.worker", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--readers", default="")
    given = parser.parse_args()
    faulthandler.enable()
    readers = tuple(given.readers.split(","))
    worker = Worker(given.folder, given.ledger, given.corpus, given.seed, readers)
    wanted = given.only.split(",") if given.only else [one.name for one in TARGETS]
    chosen = tuple(one for one in TARGETS if one.name in wanted)
    worker.run(chosen, time.monotonic() + given.seconds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
