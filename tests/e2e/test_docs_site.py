"""The site is built from the documents as they are, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(find_spec("mkdocs") is None, reason="mkdocs is not installed")


class Loads(HTMLParser):
    """What a page loads by itself: everything but where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name in ("src", "srcset") or (name == "href" and tag == "link")):
                self.addresses.append(value)


def test_the_site_builds_and_its_pages_load_nothing_foreign(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        found = Loads()
        found.feed(page.read_text("utf-8"))
        foreign = [one for one in found.addresses if re.match(r"(https?:)?//", one)]
        assert foreign == [], page.name
    styles = "".join(path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.css"))
    assert not re.search(r"url\(['\"]?(https?:)?//", styles)
