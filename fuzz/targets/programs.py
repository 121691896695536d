"""Compiled programs: any HloProto beside a run of it; whatever reads programs answers."""

from __future__ import annotations

import random
import tempfile
from functools import cache
from pathlib import Path

from fuzz.answers import failures_of
from fuzz.fields import reframed
from fuzz.mutate import mutated
from fuzz.program import run_of, small_program
from fuzz.target import Target
from stepscope.tables.hlo.module import parse_module

# What reads more of a program than the names of its ops.
_READERS = (
    "graph_viewer",
    "hlo_stats",
    "memory_viewer",
    "op_profile",
    "step_account",
    "collectives",
    "roofline_model",
    "kernel_stats",
)
# Broken framing is a damaged program, of which nothing is read.
_BROKEN_FRAC = 0.1


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="stepscope-fuzz-"))


def _seeds(_: Path | None) -> list[bytes]:
    return [small_program()]


def _mutate(rng: random.Random, seed: bytes) -> bytes:
    if rng.random() < _BROKEN_FRAC:
        return mutated(rng, seed)
    return reframed(rng, seed, "program")


def _attempt(data: bytes) -> str:
    path = _folder() / "host.xplane.pb"
    path.write_bytes(run_of(data))
    wrong = failures_of(path, _READERS)
    assert not wrong, "\n".join(wrong)
    return "damaged" if parse_module(data) is None else "answered"


TARGET = Target("programs", 0.1, _seeds, _mutate, _attempt, slow_s=20.0)
