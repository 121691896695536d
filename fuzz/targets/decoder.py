"""The XSpace decoder, and what every decoded file goes through."""

from __future__ import annotations

from fuzz.decode import try_once
from fuzz.mutate import mutated, seeds
from fuzz.target import Target

TARGET = Target("decoder", 0.1, seeds, mutated, try_once)
