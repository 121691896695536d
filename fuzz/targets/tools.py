"""Whole files: every tool, page, export and frame of each."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from fuzz.answers import failures
from fuzz.mutate import mutated, seeds
from fuzz.target import Target


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="stepscope-fuzz-"))


def _attempt(data: bytes) -> str:
    path = _folder() / "host.xplane.pb"
    path.write_bytes(data)
    wrong = failures(path)
    assert not wrong, "\n".join(wrong)
    return "answered"


# All answers about one file take a while; on a busy machine that is not a hang.
TARGET = Target("tools", 0.15, seeds, mutated, _attempt, slow_s=60.0)
