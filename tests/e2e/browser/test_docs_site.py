"""The site is built from the documents as they are, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(find_spec("mkdocs") is None, reason="mkdocs is not installed")


class Loads(HTMLParser):
    """What a page loads by itself, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name in ("src", "srcset") or (name == "href" and tag == "link")):
                self.addresses.append(value)
            elif value and name == "href":
                self.links.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_its_pages_and_styles_name_nothing_foreign(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        found = Loads()
        found.feed(page.read_text("utf-8"))
        foreign = [one for one in found.addresses if re.match(r"(https?:)?//", one)]
        assert foreign == [], page.name
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", styles)


def test_its_links_and_pictures_lead_to_files_of_the_site(site: Path) -> None:
    """The page for unknown addresses aside, which is served at any depth and names the root."""
    for page in set(site.rglob("*.html")) - {site / "404.html"}:
        found = Loads()
        found.feed(page.read_text("utf-8"))
        own = [one for one in found.addresses + found.links if not re.match(r"[\w-]+:", one)]
        files = [one.partition("#")[0].partition("?")[0] for one in own]
        missing = [one for one in files if one and not (page.parent / one).exists()]
        assert missing == [], page


def test_a_browser_asks_for_nothing_but_files_of_the_site(site: Path, page: Page) -> None:
    """Scripts included, which may load what no attribute names."""
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(request.url))
    for name in ("index.html", "advice.html", "tools/overview_page.html", "tutorials/jax.html"):
        page.goto((site / name).as_uri(), wait_until="load")
        assert page.locator("h1").first.inner_text()
    assert len(asked) > 4
    assert [url for url in asked if not url.startswith(site.as_uri())] == []
