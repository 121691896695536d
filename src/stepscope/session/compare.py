"""Comparing runs wherever they lie: opens what is named and hands the profiles over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from stepscope.comparison import Comparison, Side, compare_starts, side_of
from stepscope.comparison import compare as compare_runs
from stepscope.comparison.gate import METRICS, GateReport
from stepscope.comparison.gate import check as check_run
from stepscope.comparison.limit import Limit
from stepscope.errors import StepscopeError, UsageError
from stepscope.result import Diagnostic
from stepscope.session.decoded_run import StageProgress
from stepscope.session.session import Session, open

#: A path as ``stepscope.open`` takes it, or what it gave.
Comparable = str | os.PathLike[str] | Session


def compare(
    *runs: Comparable,
    baselines: Sequence[Comparable] = (),
    batch_sizes: Sequence[int] = (),
    progress: StageProgress | None = None,
) -> Comparison:
    """Say what changed from the first of these runs to the last, and where the difference lies.

    A single path that holds several runs stands for all of them, the oldest first. Of those between
    the first and the last, one that cannot be compared is left out and named in the diagnostics.

    Args:
        runs: Paths or sessions, the baseline first; with ``baselines`` all are starts of what is
            compared with it.
        baselines: Starts of the baseline: ``compare(b1, b2, baselines=(a1, a2))``. What differs
            from start to start then counts as noise (``Comparison.starts``).
        batch_sizes: Examples per step, where recordings do not tell: one for all, or one per run,
            those of ``baselines`` first.
        progress: Called with (stage, done bytes, total bytes) while files are read and decoded.

    Raises:
        UsageError: Fewer than two runs, or as many batch sizes as neither one nor runs.
        NothingToShow: The first or the last has no steps.
    """
    if baselines:
        return _compare_starts(baselines, runs, batch_sizes, progress)
    found = list(_sessions(runs, progress))
    if len(found) < 2:
        raise UsageError(
            "A comparison needs two runs.",
            where=", ".join(one.path for one, _ in found),
            hint="Name a second path, or a log directory with several runs.",
            slug="one-run",
        )
    names = _told_apart([one for one, _ in found])
    sizes = _sizes(batch_sizes, len(found))
    ready: list[Side] = []
    notes: list[Diagnostic] = []
    try:
        for place, (name, (session, is_ours)) in enumerate(zip(names, found, strict=True)):
            if not 0 < place < len(found) - 1:
                ready.append(side_of(name, session.profile, sizes[place]))
                continue
            one = run_between(name, session, sizes[place])
            if isinstance(one, Side):
                ready.append(one)
            else:
                notes.append(one)
            if is_ours:
                session.close()
        made = compare_runs(ready, notes)
        return replace(made, files_used=_files([one for one, _ in found]))
    finally:
        for session, is_ours in found:
            if is_ours:
                session.close()


def _compare_starts(
    baselines: Sequence[Comparable],
    runs: Sequence[Comparable],
    batch_sizes: Sequence[int],
    progress: StageProgress | None,
) -> Comparison:
    with ExitStack() as stack:
        before, after = (
            [
                one
                if isinstance(one, Session)
                else stack.enter_context(open(one, progress=progress))
                for one in side
            ]
            for side in (baselines, runs)
        )
        sides = comparable([*before, *after], batch_sizes)
        made = compare_starts(sides[: len(before)], sides[len(before) :])
        return replace(made, files_used=_files([*before, *after]))


def check(
    run: Comparable,
    limits: Mapping[str, str],
    *,
    baseline: Comparable | None = None,
    batch_sizes: Sequence[int] = (),
    progress: StageProgress | None = None,
) -> GateReport:
    """Hold a run against limits: ``check(new, {"step_time": "+5%"}, baseline=old)``.

    Args:
        run: Path or session of the run to judge.
        limits: By metric (``step_time``, ``peak_memory``, ``idle``, or a limit of the step such as
            ``input``); with a sign they are on the change from the baseline.
        baseline: Path or session of the run to compare with.
        batch_sizes: Examples per step, where recordings do not tell: one for both, or the
            baseline's and the run's.
        progress: Called with (stage, done bytes, total bytes) while files are read and decoded.

    Raises:
        UsageError: An unknown metric, an invalid limit, or a limit on change without a
            baseline.
        NothingToShow: One of the runs has no steps.
    """
    parsed = {name: _limit(name, text) for name, text in limits.items()}
    changes = [f"{name} {one.text}" for name, one in parsed.items() if one.is_change]
    if changes and baseline is None:
        raise UsageError(
            f"A limit on change needs a baseline: {', '.join(changes)}.",
            hint="Name the run to compare with (--baseline), or give a limit without a sign.",
            slug="no-baseline",
        )
    with ExitStack() as stack:
        named = [run] if baseline is None else [baseline, run]
        sessions = [
            one if isinstance(one, Session) else stack.enter_context(open(one, progress=progress))
            for one in named
        ]
        *before, judged = comparable(sessions, batch_sizes)
        made = check_run(judged, parsed, before[0] if before else None)
        return replace(made, files_used=_files(sessions))


def _files(sessions: Sequence[Session]) -> tuple[str, ...]:
    """Names of the files that a result over these sessions is from."""
    return tuple(dict.fromkeys(file for one in sessions for file in one.files_used))


def _limit(metric: str, text: str) -> Limit:
    if metric not in METRICS:
        raise UsageError(f"There is no limit on {metric!r}.", hint=f"One of {', '.join(METRICS)}.")
    return Limit.parse(text, METRICS[metric], f"The limit on {metric}")


def run_between(name: str, session: Session, batch_size: int | None = None) -> Side | Diagnostic:
    """A run that stands between the two compared, or why it cannot; the others are shown anyway.

    It comes without its recording: of a long course only the ends are kept in memory.
    """
    try:
        return side_of(name, session.profile, batch_size).in_short()
    except StepscopeError as error:
        return left_out(name, error)


def left_out(name: str, error: StepscopeError) -> Diagnostic:
    """That a run between the two compared is not among those shown, and why."""
    # A reason is a sentence of its own, or ends the one before.
    stop = "." if error.why[:1].isupper() else ":"
    reason = f"{error.what.rstrip('.')}{stop} {error.why}" if error.why else error.what
    return Diagnostic("run-left-out", "warning", f"{name} was left out. {reason}")


def comparable(sessions: Sequence[Session], batch_sizes: Sequence[int] = ()) -> list[Side]:
    """The runs of these sessions, named so that no two names are the same.

    Raises:
        UsageError: There are neither one nor as many batch sizes as sessions.
        NothingToShow: One of the runs has no steps.
    """
    named = zip(_told_apart(sessions), sessions, _sizes(batch_sizes, len(sessions)), strict=True)
    return [side_of(name, one.profile, size) for name, one, size in named]


def _sizes(given: Sequence[int], runs: int) -> list[int | None]:
    """The batch size of each run, None where none was given."""
    if any(size < 1 for size in given):
        raise UsageError("A batch has at least one example.", hint="Give e.g. --batch-size 128.")
    if len(given) > 1 and len(given) != runs:
        raise UsageError(
            f"There are {len(given)} batch sizes for {runs} runs.",
            hint="Give one for all, or one for each, the baseline's first.",
        )
    return [*given] if len(given) == runs else [given[0] if given else None] * runs


def _sessions(
    runs: Sequence[Comparable], progress: StageProgress | None
) -> Iterator[tuple[Session, bool]]:
    """The sessions of what was named, not yet decoded, and whether they are ours to close."""
    for one in runs:
        if isinstance(one, Session):
            yield one, False
            continue
        newest = open(one, progress=progress)
        if len(runs) > 1 or len(newest.runs) == 1:
            yield newest, True
            continue
        for run in reversed(newest.runs):
            yield open(one, run=run.id, progress=progress), True


def _told_apart(sessions: Sequence[Session]) -> list[str]:
    """Names of runs; with as much of the path before them as makes them differ."""
    names = [one.name for one in sessions]
    if len(set(names)) == len(names):
        return names
    paths = [one.path.rstrip("/").split("/") for one in sessions]
    deepest = max(len(path) for path in paths)
    for depth in range(1, deepest + 1):
        tails = ["/".join(path[-depth:]) for path in paths]
        if len(set(tails)) == len(tails):
            return tails
    return [f"{name} ({place})" for place, name in enumerate(names, start=1)]
