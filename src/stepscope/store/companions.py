"""Files of one run that lie in one folder: one recording, and what other tools wrote beside it.

Where files of several kinds lie together and are not taken for one run, each says why.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from stepscope.formats import FORMATS
from stepscope.store.found import Run, Source
from stepscope.store.identify import XSPACE
from stepscope.utf8 import shown

#: Slug of the notes on files that are shown together, or why they are not.
OPENED: Final = "opened-together"
# Formats that hold what ran, in the order in which one is the recording and the rest is beside it.
_RECORDINGS: Final = (XSPACE, "kineto", "nsight", "rocpd")
# Several of one tool's formats, made of one recording.
_SAME: Final = {
    "nsight-tables": "nsight",
    "rocprof-json": "rocpd",
    "rocprof-csv": "rocpd",
    "rocprof-database": "rocpd",
    "rocprof-trace": "rocpd",
}
# Totals, and times from a begin that is unknown: they fit beside nothing.
_CLOCKLESS: Final = ("collapsed", "pprof", "speedscope")
_NAMED: Final = 3


def with_companions(runs: Iterable[Run]) -> list[Run]:
    """The runs, where one folder has one of several kinds: the recording with the others beside it.

    Each other file stays a run by itself, too. Two of one kind are not known to be of one run.
    """
    by_folder: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_folder[run.path].append(run)
    found = []
    for together in by_folder.values():
        found += _join_folder(together)
    return found


def _join_folder(runs: list[Run]) -> list[Run]:
    by_kind: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        for source in run.sources:
            by_kind[_SAME.get(source.format, source.format)].append(run)
    if len(by_kind) == 1:
        return runs
    recordings = [kind for kind in _RECORDINGS if kind in by_kind]
    reason = _undecided(recordings, by_kind)
    if reason:
        return [_apart(run, runs, [reason]) for run in runs]
    main = by_kind[recordings[0]][0]
    beside: list[Source] = []
    alone: dict[str, list[Run]] = {}
    for kind, some in by_kind.items():
        if kind == recordings[0]:
            continue
        why = _why_alone(kind, len(some))
        if why:
            alone[why] = some
        else:
            beside.append(some[0].sources[0])
    (source,) = main.sources
    whole = replace(main, sources=(replace(source, companions=tuple(beside)),))
    whole = _apart(whole, [run for some in alone.values() for run in some], list(alone))
    changed = {id(run): _apart(run, [main], [why]) for why, some in alone.items() for run in some}
    changed[id(main)] = whole
    return [changed.get(id(run), run) for run in runs]


def _undecided(recordings: list[str], by_kind: dict[str, list[Run]]) -> str:
    """Why none of a folder's files is the recording that the others belong to; "" if one is."""
    if not recordings:
        return "none of them is a recording of the program that the others could belong to"
    for kind in recordings:
        some = by_kind[kind]
        if len(some) > 1 and all(run is some[0] for run in some):
            return f"which of the run's {len(some)} hosts they are of is not known"
        if len(some) > 1:
            return f"{_several(kind, len(some))} the others are of is not known"
    return ""


def _why_alone(kind: str, count: int) -> str:
    """Why files of a kind are not shown with the recording beside them; "" if they may be."""
    if kind in _CLOCKLESS:
        return f"files of one kind ({_title(kind)}) do not say when anything ran"
    return f"{_several(kind, count)} is of the same run is not known" if count > 1 else ""


def _several(kind: str, count: int) -> str:
    return f"there are {count} of one kind ({_title(kind)}), and which of them"


def _title(kind: str) -> str:
    return FORMATS[kind].title if kind in FORMATS else "XSpace"


def _apart(run: Run, others: list[Run], reasons: list[str]) -> Run:
    """The run with why it is not shown with these others."""
    files = [_name(source) for one in others if one is not run for source in one.sources]
    if not files:
        return run
    more = f" and {len(files) - _NAMED:,} more" if len(files) > _NAMED else ""
    listed = ", ".join(files[:_NAMED])
    said = f"Not shown with what lies beside it ({listed}{more}): {'; '.join(reasons)}."
    return replace(run, sources=tuple(replace(one, apart=said) for one in run.sources))


def _name(source: Source) -> str:
    return shown(re.split(r"[/\\]", source.path)[-1])
