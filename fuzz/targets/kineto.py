"""PyTorch's traces: the JSON scanner, and how its events become columns."""

from __future__ import annotations

import random
from pathlib import Path

from fuzz.decode import check_sound
from fuzz.kineto import mutated, pieces, seed_trace, try_once
from fuzz.mutate import mutated as mutated_bytes
from fuzz.target import Target
from stepscope.errors import DecodeError
from stepscope.formats.kineto.open_trace import open_trace

_LARGEST_SEED = 200_000


def seeds(corpus: Path | None) -> list[bytes]:
    """A trace with every kind of event, and the small ones of a folder."""
    found = [seed_trace()]
    if corpus is not None:
        files = (path for path in sorted(corpus.rglob("*.json")) if path.is_file())
        found += [path.read_bytes() for path in files if path.stat().st_size <= _LARGEST_SEED]
    return found


def _mutate(rng: random.Random, seed: bytes) -> bytes:
    return mutated(rng, seed) if rng.random() < 0.8 else mutated_bytes(rng, seed)


def _attempt(data: bytes) -> str:
    size = 1 + len(data) % 1000
    outcome = try_once(data, size)
    try:
        space = open_trace(pieces(data, size))
    except DecodeError as error:
        return f"{outcome}: {error.reason[:40]}"
    check_sound(space)
    for texts in (space.event_metadata.name, space.stat_metadata.name, space.warnings):
        "\n".join(texts).encode()
    return f"{outcome}: {'damaged' if space.damage else 'sound'}"


TARGET = Target("kineto", 0.05, seeds, _mutate, _attempt)
