"""The pages in a frame of another site's page, as notebooks have them."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page, expect

import stepscope
from stepscope.surfaces.http.app import STATIC_FOLDER
from stepscope.surfaces.notebook import frame
from tests.profiles import worked_example

pytestmark = [pytest.mark.e2e, pytest.mark.browser]


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[str]:
    """The address of a page of another site with our frame in it."""
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    (tmp_path / "h.xplane.pb").write_bytes(worked_example(gpu=True, steps=40))
    html = f"<!doctype html><title>notebook</title>{stepscope.show(tmp_path)._repr_html_()}"

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        # Another name is another site: cookies of ours would not reach the frame.
        yield f"http://localhost:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        while frame._servers:
            frame._servers.popitem()[1].close()


def test_the_frame_shows_the_pages_and_they_lead_on(page: Page, notebook: str) -> None:
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.goto(notebook)
    inside = page.frame_locator("iframe")
    expect(inside.locator("main h1")).to_contain_text("ound", timeout=30_000)
    inside.get_by_role("link", name="Kernels").first.click()
    expect(inside.locator("main h1")).to_contain_text("Kernels")
    expect(inside.get_by_role("grid").first).to_be_visible()
    assert broken == []
