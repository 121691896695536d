"""A report opened from the disk by Firefox: the same pages, and no request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope.session import open
from stepscope.surfaces.http.app import STATIC_FOLDER
from stepscope.surfaces.report import Choice, make_report
from tests.e2e.browser.marionette import Firefox, firefox
from tests.profiles import hostile_names, worked_example
from tests.profiles.ready import names_of_strangers

_GO = "window.location.hash = arguments[0]"
_HEADING = "document.querySelector('main h1')?.innerText"
_PAGES = "return [...document.querySelectorAll('nav a')].map((one) => one.getAttribute('href'))"
_LOADED = "return performance.getEntriesByType('resource').map((one) => one.name)"
_PIXELS = """(() => [...document.querySelectorAll('canvas')].some((canvas) => {
  if (!canvas.width || !canvas.height) return false;
  const drawn = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data;
  return drawn && new Set(new Uint32Array(drawn.buffer)).size > 3;
}))()"""


@pytest.fixture(scope="module")
def fox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    program = firefox()
    if program is None:
        pytest.skip("no Firefox on PATH")
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    found = Firefox(program, tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


def report(folder: Path, recording: bytes) -> str:
    source, target = folder / "host.xplane.pb", folder / "report.html"
    source.write_bytes(recording)
    with open(source) as session:
        target.write_bytes(make_report(session, Choice()).html)
    return target.as_uri()


def quiet(fox: Firefox) -> bool:
    loaded = [name for name in fox.run(_LOADED) if not name.startswith(("data:", "blob:"))]
    assert loaded == []
    assert fox.seen() == {"requests": [], "complaints": []}
    return True


def test_every_page_opens_and_the_timeline_is_drawn(fox: Firefox, tmp_path: Path) -> None:
    fox.go(report(tmp_path, worked_example(gpu=True, steps=40)))
    assert "step" in fox.until(_HEADING)
    pages = fox.run(_PAGES)
    assert len(pages) > 5
    for page in pages:
        fox.run(_GO, page)
        assert fox.until(f"location.hash === {page!r} && {_HEADING}")
        text = fox.run("return document.body.innerText")
        assert "no answer" not in text and "does not answer" not in text
    fox.run(_GO, "#/trace_viewer")
    assert fox.until(_PIXELS)
    assert quiet(fox)


@pytest.mark.parametrize("recording", [hostile_names(), names_of_strangers(1000)])
def test_names_of_strangers_stay_text(fox: Firefox, tmp_path: Path, recording: bytes) -> None:
    fox.go(report(tmp_path, recording))
    for page in ("#/trace_viewer", "#/host_activity", "#/about", "#/framework_op_stats"):
        fox.run(_GO, page)
        fox.until(_HEADING)
        assert fox.run("return typeof window.wrappedJSObject?.pwned") == "undefined"
        assert fox.run("return typeof window.pwned") == "undefined"
    assert quiet(fox)


def test_a_request_and_an_error_are_seen(fox: Firefox, tmp_path: Path) -> None:
    """The watch itself: a page that loads, and throws, is noticed."""
    page = tmp_path / "page.html"
    page.write_text(
        "<title>x</title><img src='http://127.0.0.1:40009/seen.png'>"
        "<script>setTimeout(() => { throw new Error('planted') })</script>"
    )
    fox.go(page.as_uri())
    fox.until("document.images[0].complete")
    seen = fox.seen()
    assert "http://127.0.0.1:40009/seen.png" in seen["requests"]
    assert any("planted" in text for text in seen["complaints"])
