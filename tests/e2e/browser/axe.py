"""axe-core on a page, through the debugger, so that the page's own policy stays in force."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page

AXE = Path(__file__).resolve().parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"

_RUN = """
axe.run().then((found) => JSON.stringify(found.violations.map((each) =>
  `${each.id}: ${each.nodes.map((node) => node.target.join(" ")).join(", ")}`)))
"""


def violations(page: Page) -> list[str]:
    """What axe-core complains about; skips the test where it is not installed."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: npm ci in web/")
    session = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
    answer = session.send(
        "Runtime.evaluate", {"expression": _RUN, "awaitPromise": True, "returnByValue": True}
    )
    found: list[str] = json.loads(answer["result"]["value"])
    return found
