"""``timeline/flame``: the tree of a range of time, also compared with another range or run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.errors import UsageError
from stepscope.schema import names
from stepscope.surfaces.http.timeline_query import Query
from stepscope.tables.steps.attribution import found_steps
from stepscope.timeline import Timeline
from stepscope.timeline.flames import GROUPS, Flame, callees, callers, flame, inverted, paired

_MOST_NODES: Final = 4000
_LABEL_LENGTH: Final = 600

OtherRun = Callable[[str], Timeline]


def flame_answer(line: Timeline, query: Query, other_run: OtherRun) -> dict[str, Any]:
    """Nodes as columns, largest subtrees first to be kept; ``base_…`` adds another stretch.

    ``of`` a name, it is the tree of its callers or callees (``side``).
    """
    begin, end = query.view(line)
    by = tuple(query.text("by", "stack").split(","))
    turned = query.choice("inverted", ("", "yes")) == "yes"
    name, side = query.text("of"), query.choice("side", ("callees", "callers"))
    limit = min(max(query.number("limit", 2000), 1), _MOST_NODES)

    def tree_of(on: Timeline, stretch: tuple[int, int], tracks: list[int] | None) -> Flame:
        try:
            found = flame(on, *stretch, tracks, by, query.check)
        except ValueError as error:
            raise UsageError(
                f"timeline: by cannot be {','.join(by)!r}.",
                why=str(error).capitalize() + ".",
                hint=f"Groups: {', '.join(GROUPS)}.",
            ) from error
        if name:
            is_named = partial(_is_called, name)
            return (callers if side == "callers" else callees)(found, is_named)
        return inverted(found) if turned else found

    tracks = query.tracks(line)
    after = tree_of(line, (begin, end), tracks)
    if not query.text("base_run") and "base_start_ps" not in query.args:
        keep = _largest(after.total_ps, limit)
        body = _columns(after.parent, [after.texts[i] for i in after.label[keep].tolist()], keep)
        return {**body, **_values(after, keep, ""), "begin_ps": begin, "end_ps": end}
    run = query.text("base_run")
    base = other_run(run) if run else line
    stretch = _base_stretch(base, query)
    before = tree_of(base, stretch, tracks if base is line else _same_tracks(line, base, tracks))
    both = paired(before, after)
    weight = np.maximum(_at(before.total_ps, both.before), _at(after.total_ps, both.after))
    keep = _largest(weight, limit)
    body = _columns(both.parent, [both.text[i] for i in keep.tolist()], keep)
    return {
        **body,
        **_values(after, both.after[keep], ""),
        **_values(before, both.before[keep], "base_"),
        "begin_ps": begin,
        "end_ps": end,
        "base_begin_ps": stretch[0],
        "base_end_ps": stretch[1],
    }


def _is_called(name: str, text: str) -> bool:
    """Whether a text is this name, as answers spell it: cut off, PyTorch's steps without number."""
    return text[:_LABEL_LENGTH] == name or (
        name.startswith(names.PYTORCH_STEP) and text == names.PYTORCH_STEP.rstrip("#")
    )


def _base_stretch(base: Timeline, query: Query) -> tuple[int, int]:
    """What is compared with: as asked, else the steps of the other run, else all of it."""
    if "base_start_ps" in query.args:
        begin, end = query.number("base_start_ps"), query.number("base_end_ps")
        if not 0 < end - begin < 1 << 62 or abs(begin) >= 1 << 62:
            raise UsageError("timeline: base_end_ps must be after base_start_ps.")
        return begin, end
    stretches = []
    for number, host in enumerate(base.profile.hosts):
        steps = found_steps(host)
        if steps is not None and len(steps):
            shift = base.axis.shift_ps[number]
            stretches.append((int(steps.start_ps.min()) + shift, int(steps.end_ps.max()) + shift))
    if not stretches:
        begin, end = base.span()
        return begin, end + 1
    return min(begin for begin, _ in stretches), max(end for _, end in stretches)


def _same_tracks(line: Timeline, base: Timeline, tracks: list[int] | None) -> list[int] | None:
    """Tracks of another run that are called as these; all where none is."""
    if tracks is None:
        return None
    wanted = {(_section(line, i), line.tracks[i].name) for i in tracks}
    found = [t.id for t in base.tracks if (_section(base, t.id), t.name) in wanted]
    return found or None


def _section(line: Timeline, track: int) -> str:
    return line.sections[line.tracks[track].section].name


def _largest(total: I64, limit: int) -> I64:
    """Rows of the largest nodes, in order; with a node its parents, which are at least as large."""
    if len(total) <= limit:
        return np.arange(len(total), dtype=np.int64)
    # Of equals the first: a parent comes before its children.
    return np.sort(np.argsort(-total, kind="stable")[:limit])


def _columns(parent: I64, texts: list[str], keep: I64) -> dict[str, Any]:
    place = np.full(len(parent), -1, np.int64)
    place[keep] = np.arange(len(keep))
    return {
        "left_out": len(parent) - len(keep),
        "name": ["", *(text[:_LABEL_LENGTH] for text in texts[1:])],
        "parent": [-1, *place[parent[keep[1:]]].tolist()],
    }


def _values(tree: Flame, rows: I64, prefix: str) -> dict[str, Any]:
    return {
        f"{prefix}total_ps": _at(tree.total_ps, rows).tolist(),
        f"{prefix}self_ps": _at(tree.self_ps, rows).tolist(),
        f"{prefix}count": _at(tree.count, rows).tolist(),
        f"{prefix}example": np.where(rows >= 0, tree.example[rows], -1).tolist(),
        f"{prefix}category": np.where(rows >= 0, tree.category[rows], -1).tolist(),
    }


def _at(values: I64, rows: I64) -> I64:
    """Values by row; 0 where a tree has no such node."""
    found: I64 = np.where(rows >= 0, values[rows], 0)
    return found
