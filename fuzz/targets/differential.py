"""XSpace bytes beside google.protobuf: nothing that it sees goes missing without a word.

Damage and refusal are words: they reach the person as a note or an error. What is decoded without
either must be the message that google.protobuf reads, event for event and stat for stat.
"""

from __future__ import annotations

import random
from typing import Final

from fuzz.fields import reframed
from fuzz.mutate import mutated, seeds
from fuzz.target import Target
from stepscope.errors import DecodeError
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode
from tests.oracle.protobuf_space import canonical, parse

# Broken framing is damage, which the decoder's own target tries: here most messages are whole.
_BROKEN_FRAC: Final = 0.2


def _events(data: bytes) -> int:
    """How many events google.protobuf sees; 0 where it refuses the bytes."""
    message = parse(data)
    if message is None:
        return 0
    return sum(len(line.events) for plane in message.planes for line in plane.lines)


def _attempt(data: bytes) -> str:
    expected = canonical(data)
    try:
        space = decode(data, threads=1)
    except DecodeError:
        assert _events(data) == 0, "refused, and google.protobuf sees events"
        return "refused"
    if space.damage is not None:
        return "damaged" if expected is None else "damage that google.protobuf takes"
    # Broken bytes in a field that nobody reads are kept: it refuses them again, and both are None.
    assert canonical(encode(space)) == expected, "something of the message is missing or changed"
    return "unread" if expected is None else "equal"


def _mutate(rng: random.Random, seed: bytes) -> bytes:
    if rng.random() < _BROKEN_FRAC:
        return mutated(rng, seed)
    return reframed(rng, seed)


TARGET = Target("differential", 0.15, seeds, _mutate, _attempt)
