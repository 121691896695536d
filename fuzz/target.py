"""What a target of fuzzing is."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """Something that takes strangers' bytes.

    Attributes:
        name: Its name on the command line and of its corpus.
        share: Share of the time it gets; all shares add up to 1.
        seeds: What is mutated; takes a folder of files to mutate as well, or None.
        mutate: (random, seed) → an input.
        attempt: Tries one input; gives the outcome in a word or two, by which the corpus keeps
            inputs. Raises for whatever must not happen.
        kind: Which of its readers takes these bytes; "" for none. Each gets as many inputs as the
            others. A target whose ``kind`` is always "" has one reader.
        slow_s: An input that takes longer (processor time) is a failure.
    """

    name: str
    share: float
    seeds: Callable[[Path | None], list[bytes]]
    mutate: Callable[[random.Random, bytes], bytes]
    attempt: Callable[[bytes], str]
    kind: Callable[[bytes], str] = lambda _: ""
    slow_s: float = 5.0
