"""The built web files ask no other machine for anything."""

from __future__ import annotations

import re

import pytest

from tests.architecture.tree import STATIC

TEXT = {".html", ".js", ".css", ".svg", ".json", ".map"}
# Names, not places: no browser fetches these.
NAMES = ("http://www.w3.org/",)
# Messages of libraries that point a developer at their documentation.
ADDRESS = re.compile(r"""(?:https?:)?//[a-z0-9-]+(?:\.[a-z0-9-]+)+[^\s"'`)<]*""", re.IGNORECASE)


@pytest.fixture(scope="module")
def built() -> dict[str, str]:
    if not (STATIC / "index.html").is_file():
        pytest.skip("the web files are not built: python3 dev.py web")
    return {
        path.relative_to(STATIC).as_posix(): path.read_text("utf-8")
        for path in STATIC.rglob("*")
        if path.suffix in TEXT
    }


def test_no_address_of_another_host(built: dict[str, str]) -> None:
    found = {
        (name, address)
        for name, text in built.items()
        for address in ADDRESS.findall(text)
        if not address.startswith(NAMES)
    }
    assert found == set()


def test_every_reference_of_the_page_is_relative(built: dict[str, str]) -> None:
    references = re.findall(r"""(?:src|href)=["']([^"']+)["']""", built["index.html"])
    assert references
    assert [link for link in references if not link.startswith("./")] == []


def test_nothing_inline_that_the_security_policy_would_stop(built: dict[str, str]) -> None:
    page = built["index.html"]
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert "<style" not in page
    assert not re.search(r"\s(?:on\w+|style)=", page)
    assert not any(re.search(r"\beval\(|\bnew Function\(", text) for text in built.values())
