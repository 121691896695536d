"""What pods cost: reading recordings, joining summaries, listing files, the page.

Each is measured on what fits into minutes, at several sizes, and a line through these says what
more would take: measured and computed figures are printed apart.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.measure import Run, measure
from bench.recordings import SAMPLE

EVENTS = 1_000_000
_XPROF_MIN = 53.0  # published: 8 files of 500 MB, openxla/xprof ec7ffef5


@dataclass(frozen=True)
class Fit:
    """A line through measurements: ``a + b · size``, and how well it fits."""

    a: float
    b: float
    r2: float

    @classmethod
    def of(cls, sizes: Sequence[float], values: Sequence[float]) -> Fit:
        """Least squares."""
        x, y = np.asarray(sizes, dtype=np.float64), np.asarray(values, dtype=np.float64)
        b, a = np.polyfit(x, y, 1).tolist()
        apart = float(((y - y.mean()) ** 2).sum())
        return cls(a, b, 1 - float(((y - a - b * x) ** 2).sum()) / apart if apart else 1.0)

    def at(self, size: float) -> float:
        """What the line says there."""
        return self.a + self.b * size


def module(name: str, *arguments: object) -> Run:
    """A module of ours as a cold process."""
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        command = [sys.executable, "-m", f"bench.pods.{name}", *map(str, arguments)]
        return measure(command, Path(log.name))


def recordings(folder: Path, files: int, *, events: int = 0, size_mb: float = 0) -> tuple[int, int]:
    """So many recordings of one size: the sample repeated in time, once on disk, linked.

    Returns:
        Events and bytes of each.
    """
    import gzip

    from bench.repeat import repeat_in_time
    from stepscope.formats.xspace import decode

    once = gzip.decompress(SAMPLE.read_bytes())
    of_one = len(decode(once).events)
    times = -(-events // of_one) if events else max(round(size_mb * 1e6 / len(once)), 1)
    first = folder / "host-0000.xplane.pb"
    size = first.write_bytes(repeat_in_time(once, times))
    for place in range(1, files):
        os.link(first, folder / f"host-{place:04d}.xplane.pb")
    return times * of_one, size


def against_xprof(size_mb: float = 500.0, hosts: int = 8) -> Iterator[str]:
    """XProf's published case in full: all hosts summarised in processes, from files."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        events, size = recordings(folder, hosts, size_mb=size_mb)
        run = module("summarise", folder, hosts, "pool")
    yield (
        f"measured: {hosts} recordings of {size / 1e6:.0f} MB ({events:,} events) summarised in "
        f"{run.wall_s:.1f} s, {run.cpu_s:.1f} core-seconds"
    )
    ours, theirs = hosts * size / 1e6 / run.wall_s, 8 * 500 / (_XPROF_MIN * 60)
    yield (
        f"published: XProf's 8 files of 500 MB took {_XPROF_MIN:.0f} min (openxla/xprof ec7ffef5, "
        f"61,000 steps each, another machine), {theirs:.1f} MB/s; ours {ours:.0f} MB/s: "
        f"{ours / theirs:.0f} × (wanted 100)"
    )


def many_hosts(measured: Sequence[int] = (4, 8, 16, 32), wanted: int = 1000) -> Iterator[str]:
    """As many hosts of 1 M events as wanted, by a line through fewer."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        events, size = recordings(folder, max(measured), events=EVENTS)
        runs = {count: module("summarise", folder, count, "pool") for count in measured}
    walls = Fit.of(list(runs), [one.wall_s for one in runs.values()])
    works = Fit.of(list(runs), [one.cpu_s for one in runs.values()])
    text = ", ".join(f"{count} in {one.wall_s:.1f} s" for count, one in runs.items())
    yield (
        f"measured: hosts of {events:,} events ({size / 1e6:.0f} MB) summarised in processes: "
        f"{text}; R² {walls.r2:.4f} (wanted 0.99)"
    )
    yield (
        f"computed: {wanted:,} such hosts ({wanted * size / 1e9:.0f} GB) {walls.at(wanted):.0f} s "
        f"on this machine, {works.at(wanted):.0f} core-seconds: {works.at(wanted) / 2:.0f} s on 2 "
        f"idle cores (wanted 120), {works.at(wanted) / 16:.0f} s on 16 (wanted 20)"
    )


def reading(folder: Path, files: Sequence[int]) -> list[str]:
    """Recordings of 1 M events each, summarised in processes: seconds, MB/s, memory."""
    events, size = recordings(folder, max(files), events=EVENTS)
    alone = module("summarise", folder, 1, "here")
    runs = {count: module("summarise", folder, count, "pool") for count in files}
    walls = Fit.of(list(runs), [one.wall_s for one in runs.values()])
    works = Fit.of(list(runs), [one.cpu_s for one in runs.values()])
    size_mb = size / 1e6
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    large = 8 * 500 / size_mb
    large_s, idle_s = large * walls.b, large * works.b / 2
    text = ", ".join(f"{count} in {one.wall_s:.1f} s" for count, one in runs.items())
    return [
        f"measured: recordings of {events:,} events, {size_mb:.0f} MB, on {cores} cores: {text}; "
        f"R² {walls.r2:.3f}",
        f"measured: {works.b:.2f} core-seconds and {walls.b:.2f} s a recording = "
        f"{events / works.b / 1e6:.1f} M events/s/core, {size_mb / works.b:.0f} MB/s/core",
        f"measured: a process that summarises one holds {alone.peak_mb:.0f} MB "
        f"(wanted {150 + 2.5 * size_mb:.0f}: 150 MB + 2.5 × its largest plane at most)",
        f"computed: 1,000 such hosts {walls.at(1000) / 60:.1f} min on these {cores} cores; by "
        f"processor time {works.b * 1000 / 2 / 60:.1f} min on 2 idle ones (wanted 2), "
        f"{works.b * 1000 / 16:.0f} s on 16 (wanted 20)",
        f"computed: 8 × 500 MB {large_s:.0f} s on these {cores} cores, by processor time "
        f"{idle_s:.0f} s on 2 idle ones; XProf's published figure is {_XPROF_MIN:.0f} min: "
        f"{_XPROF_MIN * 60 / large_s:.0f} × and {_XPROF_MIN * 60 / idle_s:.0f} × (wanted 100)",
    ]


def joining(hosts: Sequence[int]) -> list[str]:
    """Summaries of hosts with 8 devices, from disk to the answer."""
    runs, sizes = {}, []
    for count in hosts:
        with tempfile.TemporaryDirectory() as folder:
            module("simulate", folder, count)
            stored = [one.stat().st_size for one in Path(folder).iterdir()]
            sizes.append(sum(stored) / len(stored))
            runs[count] = module("join", folder)
    walls = Fit.of(list(runs), [one.wall_s for one in runs.values()])
    peaks = Fit.of(list(runs), [one.peak_mb for one in runs.values()])
    text = ", ".join(
        f"{count:,} in {one.wall_s:.1f} s and {one.peak_mb:,.0f} MB" for count, one in runs.items()
    )
    return [
        f"measured: joining summaries of hosts of 8 devices, {sizes[-1] / 1e3:.0f} kB each: "
        f"{text}; R² {walls.r2:.3f}",
        f"computed: 10,000 hosts {walls.at(10_000) / 60:.1f} min and {peaks.at(10_000) / 1e3:.1f} "
        f"GB, {peaks.b * 1e3:.0f} kB a host (wanted 4 min, 1 GB, 50 kB)",
    ]


def synthetic(files: int = 10_000) -> Iterator[str]:
    """So many different files without a disk, each read through its URL, joined; as a process."""
    where = f"hosts={files},fault=gpu_throttled,size=0.4,seed=3"
    made, whole = module("written", where, "make"), module("written", where, "join")
    yield (
        f"measured: {files:,} different recordings of synth:// made in {made.cpu_s:.0f} "
        f"core-seconds; listed, read, summarised and joined by one process in "
        f"{whole.cpu_s - made.cpu_s:.0f} more and {whole.peak_mb:,.0f} MB"
    )


def listing(files: int = 10_000) -> str:
    """How long a folder of so many recordings takes to be found and ordered."""
    from stepscope.store import find
    from tests.profiles import worked_example

    with tempfile.TemporaryDirectory() as root:
        first = Path(root) / "host-00000.xplane.pb"
        first.write_bytes(worked_example(gpu=False))
        for place in range(1, files):
            os.link(first, Path(root) / f"host-{place:05d}.xplane.pb")
        began = time.perf_counter()
        (run,) = find(root).runs
        took = time.perf_counter() - began
    return f"measured: {len(run.sources):,} files of a folder listed in {took:.1f} s (wanted 5)"


def report(*, quick: bool) -> Iterator[str]:
    """All figures, each line as soon as it is known."""
    with tempfile.TemporaryDirectory() as folder:
        yield from reading(Path(folder), (2, 4) if quick else (4, 8, 16))
    yield from joining((50, 100) if quick else (250, 500, 1000))
    yield listing(1000 if quick else 10_000)
    yield from synthetic(200 if quick else 10_000)
    from bench.pods.page import page_of, pod_of
    from tests.e2e.browser.tool_recordings import pod as recorded

    page = page_of(pod_of(100 if quick else 10_000), {"w0": recorded(0), "w1": recorded(2)})
    yield "no Chromium: the page was not measured" if page is None else page.render()
