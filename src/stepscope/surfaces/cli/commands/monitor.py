"""``stepscope monitor``: a look at a running program, without recording it."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stepscope.surfaces.cli import arguments

if TYPE_CHECKING:
    from stepscope.surfaces.live_steps import LiveProcess, LiveSteps

_EVERY_S: Final = 2.0
_OTLP_EVERY_S: Final = 10.0
_ON_THIS_MACHINE: Final = "127.0.0.1"
# A screen of 24 lines also holds the headline and the line that says how to end.
_MOST_ROWS: Final = 16


class _Address(click.ParamType):  # type: ignore[type-arg]  # generic in the types only
    """``PORT`` of this machine, or ``HOST:PORT``."""

    name = "address"

    def convert(
        self, value: str, param: click.Parameter | None, context: click.Context | None
    ) -> tuple[str, int]:
        host, _, port = value.rpartition(":")
        if not (port.isascii() and port.isdecimal() and int(port) < 1 << 16):
            self.fail(f"{value!r} is not a port.", param, context)
        return host or _ON_THIS_MACHINE, int(port)


@click.command()
@arguments.argument(
    "target",
    metavar="HOST:PORT[,…] | PATH",
    help="Addresses of the programs' profiler servers, separated by commas; or a step log, or a "
    "folder with the step logs of a job.",
)
@click.option(
    "--duration-ms",
    type=click.FloatRange(min=1),
    default=1000.0,
    show_default=True,
    help="Duration in ms; of profiler servers.",
)
@click.option(
    "--prometheus",
    type=_Address(),
    metavar="[HOST:]PORT",
    help="Serve a step log's numbers at /metrics, until interrupted.",
)
@click.option(
    "--otlp", metavar="URL", help="Send a step log's numbers to an OTLP receiver over HTTP."
)
def monitor(
    target: str, duration_ms: float, prometheus: tuple[str, int] | None, otlp: str | None
) -> None:
    """Show the activity of a running program, without recording it."""
    from stepscope.surfaces.format import clean

    path = Path(target)
    if path.exists():
        from stepscope.surfaces import live_steps

        live = live_steps.LiveSteps(path)
        with ExitStack() as ends:
            if prometheus is not None:
                url, end = live_steps.serve_prometheus(live, *prometheus)
                ends.callback(end)
                print(url, flush=True)
            if otlp is not None:
                ends.callback(live_steps.push_otlp(live, otlp, _OTLP_EVERY_S))
            _watch(live, for_ever=bool(prometheus or otlp))
        return
    if prometheus or otlp:
        raise click.UsageError(f"There is no step log {target!r}.")
    from stepscope.capture.rpc.client import api as client

    for text in client.monitor(target, duration_ms).splitlines():
        print(clean(text))


def _watch(live: LiveSteps, *, for_ever: bool) -> None:
    """Print the job, on a terminal again and again until interrupted."""
    is_terminal = sys.stdout.isatty()
    if not is_terminal and not for_ever:
        print(_screen(live.read()))
        return
    try:
        while True:
            if is_terminal:
                sys.stdout.write(f"\x1b[H\x1b[2J{_screen(live.read())}\n\nCtrl-C ends.\n")
                sys.stdout.flush()
            time.sleep(_EVERY_S)
    except KeyboardInterrupt:
        return


def _screen(processes: list[LiveProcess]) -> str:
    """The most urgent fact, and a row for each process."""
    from stepscope.quantities import size_words, time_words
    from stepscope.surfaces.format import clean, pad, width
    from stepscope.surfaces.live_steps import ago_s, headline

    first, left = headline(processes), len(processes) - _MOST_ROWS
    if left > 0:
        processes = sorted(processes, key=lambda one: -(one.recent_step_s or 0))[:_MOST_ROWS]
    rows = [("Process", "Steps", "Step", "Longest", "Input wait", "Memory", "Last step", "Values")]
    for one in processes:
        step_s, wait_s = one.recent_step_s, one.recent_wait_s
        rows.append(
            (
                clean(one.name),
                f"{one.steps:,}",
                time_words(step_s * 1e3) if step_s else "",
                time_words(one.recent_longest_s * 1e3) if one.recent_longest_s else "",
                f"{wait_s / step_s:.0%}" if step_s and wait_s is not None else "",
                size_words(one.memory_bytes) if one.memory_bytes else "",
                f"{ago_s(one):.0f} s ago" if one.seen_ns else "",
                ", ".join(f"{clean(name)} {value:.4g}" for name, value in one.values.items()),
            )
        )
    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]))]
    last = len(widths) - 1
    lines = [
        "  ".join(
            pad(cell, widths[column], right=0 < column < last) for column, cell in enumerate(row)
        ).rstrip()
        for row in rows
    ]
    more = [f"{left:,} faster processes are not shown."] if left > 0 else []
    return "\n".join([clean(first), "", *lines, *more])


COMMAND = monitor
