"""``stepscope capture``: record programs that run elsewhere."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from stepscope.surfaces.cli import arguments

if TYPE_CHECKING:
    from stepscope.capture.rpc.client.outcome import Progress, RemoteCapture, WorkerOutcome
    from stepscope.surfaces.cli.pages.page import Page

_REDRAW_S = 0.2
_DEFAULT_MS = 2000.0

workers_argument = arguments.argument(
    "workers",
    metavar="HOST:PORT[,…]",
    help="Addresses of the programs' profiler servers, separated by commas.",
)


@click.command()
@workers_argument
@arguments.argument("logdir", metavar="LOGDIR", help="Folder or URL to write to.")
@click.option(
    "--duration-ms",
    type=float,
    help="Duration in ms, by default 2000; with --steps, the maximum.",
)
@click.option("--steps", type=click.IntRange(min=1), metavar="N", help="Record this many steps.")
@click.option(
    "--host-tracer-level",
    type=click.IntRange(0, 3),
    default=2,
    show_default=True,
    help="Host events: 0 none, 1 annotations, 2 ops, 3 all.",
)
@click.option(
    "--python-tracer-level",
    type=click.IntRange(0, 1),
    default=0,
    show_default=True,
    help="Python calls: 0 off, 1 every one.",
)
@click.option(
    "--device-tracer-level",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="GPU and TPU events: 0 off, 1 on.",
)
@click.option(
    "--delay-ms",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Wait this many ms before recording.",
)
@click.option(
    "--attempts",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Maximum number of requests to a worker that is busy or returns nothing.",
)
@click.option(
    "--answer-s",
    type=float,
    help="Seconds to wait for an answer after the recording; by default its length, at least 60.",
)
@arguments.formats("table", "json", help="Format of the outcome.")
def capture(
    workers: str,
    logdir: str,
    duration_ms: float | None,
    steps: int | None,
    host_tracer_level: int,
    python_tracer_level: int,
    device_tracer_level: int,
    delay_ms: int,
    attempts: int,
    answer_s: float | None,
    format: str,
) -> None:
    """Record programs that run elsewhere, all at the same time, into a run of LOGDIR."""
    from stepscope.capture.options import ProfilerOptions
    from stepscope.capture.rpc.client.address import parse_addresses
    from stepscope.capture.rpc.client.api import nothing_recorded
    from stepscope.capture.rpc.client.gather import Gathering
    from stepscope.capture.rpc.client.request import CaptureRequest
    from stepscope.surfaces.remote import step_time_ms

    request = CaptureRequest(
        parse_addresses(workers),
        logdir,
        duration_ms=_DEFAULT_MS if duration_ms is None and steps is None else duration_ms,
        steps=steps,
        options=ProfilerOptions(
            host_tracer_level=host_tracer_level,
            python_tracer_level=python_tracer_level,
            device_tracer_level=device_tracer_level,
            delay_ms=delay_ms,
        ),
        attempts=attempts,
        answer_s=answer_s,
    )
    with _Line() as line:
        outcome = Gathering(request, step_time_ms).run(line.draw)
    if not outcome.recorded:
        raise nothing_recorded(outcome)
    if format == "json":
        from stepscope.surfaces.format import json_of

        print(json_of(outcome.to_dict(), indent=2))
    else:
        _print(outcome)


COMMAND = capture


class _Line:
    """One line on the terminal's stderr that says where the workers are."""

    def __init__(self) -> None:
        self._active = sys.stderr.isatty()
        self._drawn = 0.0

    def draw(self, progress: Sequence[Progress]) -> None:
        """Draw it, five times a second at most."""
        now = time.monotonic()
        if not self._active or now - self._drawn < _REDRAW_S:
            return
        self._drawn = now
        sys.stderr.write("\r\x1b[2K" + progress_text(progress, now))
        sys.stderr.flush()

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def progress_text(progress: Sequence[Progress], now_s: float) -> str:
    """Where the workers are, in a line: how many are done, and what the first open one does."""
    from stepscope.surfaces.format import clean, shorten

    done = sum(each.phase in ("done", "failed") for each in progress)
    waited = [each for each in progress if each.phase not in ("done", "failed")]
    if not waited:
        return f"{done} of {len(progress)} workers done"
    first = waited[0]
    what = str(first.phase)
    if first.phase in ("waiting", "recording") and first.until_s is not None:
        left = first.until_s - now_s
        what = f"recording, {left:.1f} s to go" if left > 0 else "waiting for the answer"
    note = f": {first.note}" if first.note else ""
    return shorten(clean(f"{done} of {len(progress)} done · {first.address} {what}{note}"), 76)


def _print(outcome: RemoteCapture) -> None:
    from stepscope.surfaces.cli.pages.page import Page, terminal_width
    from stepscope.surfaces.format import clean
    from stepscope.surfaces.remote import verdict_of

    page = Page(terminal_width())
    length = f"{outcome.duration_ms / 1e3:.3g} s"
    if outcome.steps is not None:
        length = f"{outcome.steps} steps, {length} at most"
    page.line(
        (f"{len(outcome.recorded)} of {len(outcome.workers)} workers recorded", "bold"),
        (f"  ·  {length}  ·  run {clean(outcome.run)}", "dim"),
    )
    widest = max(len(clean(each.address)) for each in outcome.workers)
    for each in outcome.workers:
        _worker_lines(page, each, widest)
    for note in outcome.notes:
        page.text(clean(note), lead="! ", style="yellow")
    if verdict := verdict_of(outcome.folder):
        page.blank()
        page.text(clean(verdict), style="bold")
    page.line("→ ", clean(f"stepscope show overview_page {shlex.quote(outcome.folder)}"))
    page.print()


def _worker_lines(page: Page, worker: WorkerOutcome, widest: int) -> None:
    from stepscope.quantities import size_words
    from stepscope.surfaces.format import clean, pad

    state = {"recorded": "green", "empty": "yellow", "failed": "red"}[worker.status]
    facts = ""
    if worker.status == "recorded":
        facts = f"{worker.events:,} events, {size_words(worker.bytes)} in {worker.seconds:.1f} s"
    page.line(
        f"  {pad(clean(worker.address), widest)}  ", (pad(worker.status, 8), state), f"  {facts}"
    )
    if worker.server and worker.status == "recorded":
        page.line(" " * (widest + 14), (clean(worker.server), "dim"))
    if worker.error:
        page.text(clean(worker.error), indent=4, style="yellow")
        page.text(clean(worker.hint), indent=4, lead="→ ")
    for note in worker.notes:
        page.text(clean(note), indent=4, lead="! ", style="yellow")
