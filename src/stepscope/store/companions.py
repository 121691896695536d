"""Files of one run that lie in one folder: one recording, and what other tools wrote beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from stepscope.store.found import Run
from stepscope.store.identify import XSPACE

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


def with_companions(runs: Iterable[Run]) -> list[Run]:
    """The runs, where one folder has one of several kinds: the recording with the others beside it.

    Each other file stays a run by itself, too. Two of one kind are not known to be of one run.
    """
    by_folder: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_folder[run.path].append(run)
    found = []
    for together in by_folder.values():
        found += _of_folder(together)
    return found


def _of_folder(runs: list[Run]) -> list[Run]:
    by_kind: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        for source in run.sources:
            by_kind[_SAME.get(source.format, source.format)].append(run)
    recordings = [kind for kind in _RECORDINGS if kind in by_kind]
    if not recordings or any(len(by_kind[kind]) > 1 for kind in recordings):
        return runs
    main = by_kind[recordings[0]][0]
    beside = tuple(
        some[0].sources[0]
        for kind, some in by_kind.items()
        if kind != recordings[0] and len(some) == 1 and kind not in _CLOCKLESS
    )
    if not beside:
        return runs
    (source,) = main.sources
    whole = replace(main, sources=(replace(source, companions=beside),))
    return [whole if run is main else run for run in runs]
