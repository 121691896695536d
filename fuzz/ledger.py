"""What the workers of campaigns tried: a file for each worker, to be added up."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path


def ledgers(folder: Path) -> Path:
    """Where the workers of a campaign account for what they tried, a file each."""
    return folder / "ledger"


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
