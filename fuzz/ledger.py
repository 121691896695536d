"""What the workers of campaigns tried: a file for each worker, to be added up."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

#: What campaigns tried that were recorded, a line of JSON each; kept with the source.
TRIED: Final = Path(__file__).with_name("tried.jsonl")

#: How the ledger of a worker ends that is still at it.
RUNNING: Final = ".running"


def ledgers(folder: Path) -> Path:
    """Where the workers of a campaign account for what they tried, a file each."""
    return folder / "ledger"


def settle(folder: Path, still_seconds: float, *running: Path) -> None:
    """Count the ledgers of workers that ended; before, what is recorded would grow again.

    Args:
        folder: Of the campaigns.
        still_seconds: For how long nobody has written to them.
        running: Which; all of the folder by default.
    """
    for one in running or sorted(ledgers(folder).glob(f"*{RUNNING}")):
        if one.exists() and time.time() - one.stat().st_mtime >= still_seconds:
            one.rename(one.with_suffix(".json"))


def added(files: Iterable[Path]) -> dict[str, Counter[str]]:
    """What workers tried, added up.

    Returns:
        ``counts`` by target, and ``readers`` (inputs) and ``opened`` (those that gave events) by
        reader; ``failed`` has one number, of the key "inputs".
    """
    total = {name: Counter[str]() for name in ("counts", "readers", "opened", "failed")}
    for file in files:
        if not file.exists():
            continue
        said = json.loads(file.read_text("utf-8"))
        said["failed"] = {"inputs": said["failed"]}
        for name, counted in total.items():
            counted.update(said[name])
    return total


def record(folder: Path, tried: Path, *, build: str, commit: str, date: str) -> None:
    """Append what the ledgers of a build hold to those on record; each ledger counts once.

    Args:
        folder: Of the campaigns.
        tried: The file.
        build: Which ledgers; see ``fuzz.campaign``.
        commit: Of the source that was fuzzed.
        date: Of the day, YYYY-MM-DD.
    """
    files = sorted(ledgers(folder).glob(f"{build}-*.json"))
    total = added(files)
    inputs = {name: [count] for name, count in total["counts"].items() if count}
    if total["readers"]:
        inputs.pop("imports", None)
    for name, count in sorted(total["readers"].items()):
        # A target with one reader, which has no name, is there already.
        inputs |= {f"imports:{name}": [count, total["opened"][name]]} if name else {}
    if not inputs:
        return
    said = {
        "date": date,
        "commit": commit,
        "build": build,
        "failed": total["failed"]["inputs"],
        "inputs": inputs,
    }
    with tried.open("a", encoding="utf-8") as out:
        out.write(json.dumps(said) + "\n")
    recorded = ledgers(folder) / "recorded"
    recorded.mkdir(exist_ok=True)
    for file in files:
        file.rename(recorded / file.name)


def on_record(tried: Path, build: str) -> Counter[str]:
    """How many inputs each reader has had on a build, and each target without readers."""
    total = Counter[str]()
    lines = tried.read_text("utf-8").splitlines() if tried.is_file() else []
    for said in map(json.loads, lines):
        if said["build"] == build:
            total.update({name: counted[0] for name, counted in said["inputs"].items()})
    return total
