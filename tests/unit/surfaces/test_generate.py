"""Generated files are fresh."""

from __future__ import annotations

import pytest

from stepscope.surfaces.generate import repository, stale
from tests.conftest import ROOT


@pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="the sources are not here")
def test_generated_files_are_fresh() -> None:
    assert stale(repository()) == [], "refresh: python -m stepscope.surfaces.generate"
