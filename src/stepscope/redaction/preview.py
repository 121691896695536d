"""Every text that leaves in a report or export of a recording, for its owner to look through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from stepscope.columns import read_bytes, read_string
from stepscope.columns.space import KIND_BYTES, KIND_REF, KIND_STR, Space, Stats
from stepscope.redaction.programs import program_texts
from stepscope.schema import names


def leaving_texts(spaces: Iterable[Space]) -> Counter[tuple[str, str]]:
    """Return how often each text is in these columns, by kind: plane, line, event, stat, program.

    Args:
        spaces: The hosts as they leave: redacted, if a redaction was asked for.
    """
    found: Counter[tuple[str, str]] = Counter()
    for space in spaces:
        found.update(("host", name) for name in space.hostnames)
        found.update(("plane", plane.name) for plane in space.planes)
        found.update(("line", line.name) for line in space.lines)
        found.update(("line", line.display_name) for line in space.lines)
        found.update(("event", name) for name in space.event_metadata.name)
        found.update(("event", name) for name in space.event_metadata.display_name)
        for column in (space.event_stats, space.plane_stats, space.metadata_stats):
            found.update(_values(space, column))
        found.update(("note", text) for text in (*space.errors, *space.warnings))
    return Counter({key: count for key, count in found.items() if key[1]})


def _values(space: Space, column: Stats) -> Iterator[tuple[str, str]]:
    """Each distinct value of each stat that is a text, under the stat's name."""
    stat = space.stat_metadata.name
    for row in np.flatnonzero((column.kind == KIND_BYTES) & (column.key >= 0)).tolist():
        if stat[int(column.key[row])] == names.HLO_PROTO:
            proto = read_bytes(space, int(column.value[row]))
            yield from (("program", text) for text in program_texts(proto))
    for kind in (KIND_STR, KIND_REF):
        rows = np.flatnonzero((column.kind == kind) & (column.key >= 0))
        pairs = np.stack([column.key[rows].astype(np.uint64), column.value[rows]], axis=1)
        for key, value in np.unique(pairs, axis=0).tolist():
            if kind == KIND_STR:
                yield f"stat {stat[key]}", read_string(space, value)
            elif value < len(stat):
                yield f"stat {stat[key]}", stat[value]


def preview_text(spaces: Iterable[Space], said: str) -> str:
    """Return all texts that leave, one a line, as text to look through.

    Args:
        spaces: The hosts as they leave.
        said: What the redaction does; "" for none.
    """
    found = leaving_texts(spaces)
    width = min(max((len(kind) for kind, _ in found), default=0), 30)
    lines = [said or "Nothing is redacted: everything recorded leaves."]
    lines += [f"{len(found):,} texts leave, beside times, counts and other numbers:", ""]
    lines += [f"{kind:{width}}  {text}" for kind, text in sorted(found)]
    return "\n".join(lines) + "\n"
