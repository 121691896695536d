"""Events of one line that overlap without nesting are lanes elsewhere, and one line again here."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import stepscope
from stepscope.formats.xspace import decode
from stepscope.surfaces.export.recording import RECORDING_FORMATS
from stepscope.tables.core.profile import Host, Profile
from stepscope.timeline import timeline
from tests.profiles import event, space
from tests.profiles.drawing import draw


def by_line(session: stepscope.Session) -> Counter[tuple[str, str, str]]:
    """Events by section and track, but for the steps, which an export has as a track."""
    rows = session.events().select("section", "track", "name").rows()
    return Counter(
        (str(section), str(track), str(name))
        for section, track, name in rows
        if not str(track).startswith("Steps")
    )


@pytest.mark.parametrize(("kind", "ending"), [("perfetto", ".pftrace"), ("chrome-json", ".json")])
def test_lanes_of_a_line_come_back_as_the_line(tmp_path: Path, kind: str, ending: str) -> None:
    """The second lane has Python calls alone, which must not make a line of Python of it."""
    drawn = draw(
        """
        /host:CPU
          python   A---.B---.A---
          "        ..P---..P---..
          other    A---..........
        """,
        unit_us=100,
        A=event("PjitFunction(step)"),
        B=event("ExecuteReplicated"),
        P=event("$train.py:30 prepare"),
    )
    data = space(*drawn)
    (tmp_path / "a.xplane.pb").write_bytes(data)
    first = timeline(Profile("p", (Host("h", decode(data)),)))
    exported = tmp_path / f"b{ending}"
    written = RECORDING_FORMATS[kind].write(first, first.span()[0], first.span()[1] + 1)
    exported.write_bytes(b"".join(written))
    with stepscope.open(tmp_path / "a.xplane.pb") as before, stepscope.open(exported) as after:
        assert by_line(after) == by_line(before)
        assert by_line(before).total() == 6
