"""A pod opened: its recordings summarised, each once and wherever there are processors, and joined.

Of a recording only its summary is kept; the driver never holds more than these.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from stepscope import engine as engines
from stepscope.engine import Done
from stepscope.errors import NothingToShow, StepscopeError, StoreError
from stepscope.pod.analyse import answer
from stepscope.pod.intake import Gathered, Intake
from stepscope.pod.report import Pod
from stepscope.session.decoded_run import DecodedRun
from stepscope.session.together import decoded_bytes
from stepscope.store import Run, Source
from stepscope.store.kept import Kept, KeptWhere, shrink
from stepscope.store.remote import stamp
from stepscope.summary.build import summarise
from stepscope.summary.encode import decode, encode
from stepscope.summary.summary import VERSION, Summary

#: Called with (what is done, done bytes, total bytes).
Progress = Callable[[str, int, int], None]

# From these on, processes are worth their start, which takes as long as reading some 100 MB.
_POOL_FROM_FILES: Final = 4
_POOL_FROM_BYTES: Final = 100_000_000
_MANY_FILES: Final = 64
# What a process needs beside the columns of its recording.
_PROCESS_BYTES: Final = 150_000_000


def pod_of(
    run: Run,
    *,
    engine: str = "auto",
    memory_bytes: int = 0,
    width: int = 0,
    keep: KeptWhere = "cache",
    progress: Progress | None = None,
) -> Pod:
    """Say who makes a pod slower, from the recordings of all its hosts.

    Args:
        run: Its recordings.
        engine: "here", "pool" (processes of this machine), "ray", or "auto".
        memory_bytes: What reading may need at once; 0 for no limit but the number of processors.
        width: How many recordings are read at once; 0: one a processor.
        keep: Where summaries are kept: "cache", "beside" the recordings, or "no".
        progress: Called with (stage, done bytes, total bytes).

    Raises:
        StoreError: Summaries cannot be kept where they should.
        NothingToShow: None opens, or their devices share no collective.
        UsageError: There is no such engine.
    """
    kept = Kept(keep, VERSION)
    kept.check(run.sources)
    intake, missing = Intake(), []
    for source in run.sources:
        if (known := _known(kept, source)) is None:
            missing.append(source)
        else:
            intake.add(known)
    chosen_engine = _engine(engine, missing)
    failed = _summarise(missing, intake, kept, chosen_engine, memory_bytes, width, progress)
    if keep == "cache" and missing:
        shrink()
    if not len(intake):
        raise NothingToShow(
            "None of this run's recordings could be summarised.",
            where=run.path,
            why="; ".join(f"{host}: {reason}" for host, _, reason in failed[:3]),
            hint="`stepscope ls --check` says more of each file.",
        )
    if progress is not None:
        progress(f"joining {len(intake):,} recordings", 0, 0)
    whole = intake.gathered()
    return answer(whole, run.id, failed, _expected(whole, run))


def _known(kept: Kept, source: Source) -> Summary | None:
    """The kept summary of a recording, if it is one that can be read."""
    data = kept.read(source)
    try:
        return None if data is None else decode(data, source.path)
    except StepscopeError:
        return None  # damaged: made again


def _engine(name: str, missing: list[Source]) -> str:
    if name != "auto":
        return name
    if os.environ.get("RAY_ADDRESS"):
        return "ray"
    size = sum(source.size_bytes for source in missing)
    # Text and compressed bytes take longer than their size says; so many files are many anyway.
    many = len(missing) >= _MANY_FILES or size >= _POOL_FROM_BYTES
    return "pool" if len(missing) >= _POOL_FROM_FILES and many else "here"


def _summarise(
    missing: list[Source],
    intake: Intake,
    kept: Kept,
    engine: str,
    memory_bytes: int,
    width: int,
    progress: Progress | None,
) -> list[tuple[str, str, str]]:
    """Summarise recordings, keep each as it comes; those that fail, with the reason."""
    failed: list[tuple[str, str, str]] = []
    done_bytes, total = 0, sum(source.size_bytes for source in missing)
    began = time.monotonic()
    outcomes = engines.run(
        missing,
        summary_of,
        engine=engine,
        bytes_of=_needed_bytes,
        budget_bytes=memory_bytes,
        width=width,
    )
    for count, outcome in enumerate(outcomes, start=1):
        source = outcome.item
        done_bytes += source.size_bytes
        if isinstance(outcome, Done):
            summary = decode(outcome.answer, source.path)
            assert summary is not None  # of this version: it was made just now
            kept.write(source, outcome.answer)
            intake.add(summary)
        else:
            failed.append((source.host, "failed", outcome.reason))
        if progress is not None:
            speed = done_bytes / 1e6 / max(time.monotonic() - began, 1e-3)
            lost = f", {len(failed):,} failed" if failed else ""
            stage = f"summarised {count:,} of {len(missing):,}{lost}, {speed:.0f} MB/s"
            progress(stage, done_bytes, total)
    return failed


def _needed_bytes(source: Source) -> int:
    return _PROCESS_BYTES + decoded_bytes(source.path, source.size_bytes)


def summary_of(source: Source) -> bytes:
    """The summary of one recording; runs in any process of any machine that can read it.

    Raises:
        StepscopeError: It does not open, or was written while it was read.
    """
    before = stamp(source.path)
    # What other tools wrote beside it tells nothing of a pod.
    alone = replace(source, companions=())
    recording = DecodedRun(Run(source.host, source.path, (alone,)), cached=False)
    try:
        (host,) = recording.hosts((source.host,))
        notes = tuple(one.message for one in recording.diagnostics((source.host,)))
        data = encode(summarise(host, notes))
    finally:
        recording.close()
    if stamp(source.path) != before:
        raise StoreError(
            "The recording was written while it was read.",
            where=source.path,
            hint="Wait until its recorder has ended, and ask again.",
            slug="written-meanwhile",
        )
    return data


def _expected(whole: Gathered, run: Run) -> int:
    """How many recordings there should be, as far as ranks and groups tell."""
    ranks = max((one.rank for one in whole.who), default=-1) + 1
    devices = {len(one.devices) for one in whole.who}
    by_group = whole.largest if devices == {1} else 0
    return max(ranks, by_group, len(run.sources))
