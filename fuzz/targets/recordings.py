"""Damaged recordings of the collection: the account of the step, which reads all they hold.

Their framing mostly holds: a few of many events, names and numbers are wrong, as in a file that
lost a part.
"""

from __future__ import annotations

import gzip
import random
import tempfile
from functools import cache
from pathlib import Path

from fuzz.answers import failures_of
from fuzz.fields import reframed
from fuzz.mutate import mutated
from fuzz.target import Target

_COLLECTION = Path(__file__).parents[2] / "tests" / "collection" / "recordings"
_LARGEST_BYTES = 60_000
_READERS = ("step_account", "input_pipeline_analyzer", "host_activity")
_REFRAMED_FRAC = 0.4
# So many bytes of one are changed at most: with more the rest of it is not found.
_MOST_BYTES = 1000


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="stepscope-fuzz-"))


def _seeds(_: Path | None) -> list[bytes]:
    listed = sorted(_COLLECTION.rglob("*.xplane.pb.gz"))
    small = [one for one in listed if one.stat().st_size <= _LARGEST_BYTES]
    return [gzip.decompress(one.read_bytes()) for one in small]


def _mutate(rng: random.Random, seed: bytes) -> bytes:
    chosen = rng.random()
    if chosen < _REFRAMED_FRAC:
        return reframed(rng, seed, "space")
    if chosen < 2 * _REFRAMED_FRAC:
        data = bytearray(seed)
        for _ in range(rng.choice((1, 10, 100, _MOST_BYTES))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)
    return mutated(rng, seed)


def _attempt(data: bytes) -> str:
    path = _folder() / "host.xplane.pb"
    path.write_bytes(data)
    wrong = failures_of(path, _READERS)
    assert not wrong, "\n".join(wrong)
    return "answered"


TARGET = Target("recordings", 0.15, _seeds, _mutate, _attempt, slow_s=30.0)
