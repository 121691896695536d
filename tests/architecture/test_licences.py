"""What the pages bundle is shipped with its licence."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_package_in_the_pages_has_its_licence_beside_ours() -> None:
    bundled = json.loads((ROOT / "web" / "package.json").read_text("utf-8"))["dependencies"]
    text = (ROOT / "THIRD_PARTY.md").read_text("utf-8")
    sections = dict(part.partition("\n")[::2] for part in text.split("\n## ")[1:])
    assert bundled.keys() <= sections.keys()
    assert all("Permission is hereby granted" in sections[name] for name in bundled)
    assert '"THIRD_PARTY.md"' in (ROOT / "pyproject.toml").read_text("utf-8")
