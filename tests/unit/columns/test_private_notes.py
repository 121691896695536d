"""Notes of recorders, without the machine's names."""

from __future__ import annotations

import re

import pytest

from stepscope.columns.private import _note


def test_a_note_has_no_name_of_a_host() -> None:
    told = _note("node-7: lost events; node-77 and node-7.rack did not", ("node-7", "", "other"))
    assert told == "this host: lost events; node-77 and this host.rack did not"


def test_thousands_of_hosts_cost_no_pattern_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged file may say that many, and has many notes."""
    asked: list[str] = []
    escape = re.escape

    def counted(text: str) -> str:
        asked.append(text)
        return escape(text)

    monkeypatch.setattr(re, "escape", counted)
    hosts = tuple(f"host-{at}" for at in range(5_000))
    assert _note("host-4999 is late", hosts).startswith("this host is late")
    assert len(asked) < 10
