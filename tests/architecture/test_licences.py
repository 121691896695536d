"""Packages that we bundle come with their licence; packages that we name move nobody else's."""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_every_package_in_the_pages_has_its_licence_beside_ours() -> None:
    bundled = json.loads((ROOT / "web" / "package.json").read_text("utf-8"))["dependencies"]
    text = (ROOT / "THIRD_PARTY.md").read_text("utf-8")
    sections = dict(part.partition("\n")[::2] for part in text.split("\n## ")[1:])
    assert bundled.keys() <= sections.keys()
    assert all("Permission is hereby granted" in sections[name] for name in bundled)
    assert '"THIRD_PARTY.md"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_no_extra_brings_numpy() -> None:
    """Pip replaced NumPy 1 for the sake of an extra with pandas in it."""
    tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11 or newer")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = {
        re.split(r"[^\w.-]", requirement)[0]
        for extra, listed in project["optional-dependencies"].items()
        if extra not in ("test", "dev")
        for requirement in listed
    }
    assert "grpcio" in named
    for package in named:
        try:
            needs = requires(package) or []
        except PackageNotFoundError:
            continue
        assert [each for each in needs if each.startswith("numpy") and "extra" not in each] == []
    assert not named & {"pandas", "scipy"}
