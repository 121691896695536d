"""``stepscope repair``: a recording left in pieces as one whole file."""

from __future__ import annotations

import sys

from stepscope.session.repair import repair


def print_repair(path: str, also: list[str], output: str | None) -> None:
    """Repair and say what came of it."""
    done = repair(path, also, output)
    planes = f"{done.planes_before} planes → {done.planes_after}"
    print(f"wrote {done.path}: {done.events:,} events, {planes}", file=sys.stderr)
    if done.damage:
        print(f"left out, being broken: {done.damage}", file=sys.stderr)
