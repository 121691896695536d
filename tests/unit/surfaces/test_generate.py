"""Generated files are fresh."""

from __future__ import annotations

from stepscope.surfaces.generate import repository, stale


def test_generated_files_are_fresh() -> None:
    assert stale(repository()) == [], "refresh: python -m stepscope.surfaces.generate"
