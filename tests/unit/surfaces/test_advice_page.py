"""Advice in the terminal: the range of a saving, and what it assumes."""

from __future__ import annotations

import io

from stepscope.result import Advice, Finding
from stepscope.surfaces.cli.pages.advice import advice_page

FINDING = Finding(
    "serial-map", "high", 4.0, 0.8, "A map delays the step.", saving_low_ms=3.0,
    saving_high_ms=6.0, assumption="batches are ready in time",
    saving_text="Saves 3 to 6 ms per step",
)  # fmt: skip


def test_the_page_names_the_range_and_what_it_assumes() -> None:
    page, out = advice_page("run", Advice((FINDING,), ()), 100), io.StringIO()
    page.print(out, colour=False)
    assert "Saves 3 to 6 ms per step · possible" in out.getvalue()
    assert "assuming that batches are ready in time" in out.getvalue()
