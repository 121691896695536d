"""``stepscope loader``: measure an input pipeline by itself, and against the step."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import click

from stepscope.surfaces.cli import arguments

if TYPE_CHECKING:
    from stepscope.loader.measure import Delivery, LoaderVerdict

_STYLE = {"fast enough": "green", "close": "yellow", "too slow": "red", "not compared": ""}


@click.command()
@arguments.argument(
    "pipeline",
    metavar="MODULE:NAME",
    help="A dataset, loader or iterable, or a function that makes one: train.py:make_dataset.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    help="Duration in seconds.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    help="Elements per batch; by default the first dimension of its arrays.",
)
@click.option("--step-ms", type=click.FloatRange(min=0, min_open=True), help="Time of a step.")
@click.option(
    "--recording",
    metavar="PATH",
    help="Use the step time of this recording, less its wait for input.",
)
@click.option(
    "--step",
    metavar="MODULE:NAME",
    help="A function of a batch: measured on one batch repeated, and fed by the pipeline.",
)
@arguments.formats("table", "json")
@arguments.everything
def loader(
    pipeline: str,
    seconds: float,
    batch_size: int | None,
    step_ms: float | None,
    recording: str | None,
    step: str | None,
    format: str,
) -> int:
    """Measure an input pipeline by itself, and compare it with the time of a step."""
    from stepscope.loader.find import find, opener
    from stepscope.loader.measure import deliver, fed_step_ms, judge, synthetic_step_ms

    if sum(given is not None for given in (step_ms, recording, step)) > 1:
        raise click.UsageError("Give one of --step-ms, --recording and --step.")
    open_ = opener(find(pipeline), pipeline)
    function = None if step is None else find(step)
    if recording is not None:
        step_ms = _recorded_step_ms(recording)
    delivery, first = deliver(open_, seconds)
    loop_ms = None
    if function is not None:
        step_ms = synthetic_step_ms(function, first, seconds)
        loop_ms = fed_step_ms(function, open_, seconds)
    verdict = judge(delivery, step_ms, loop_ms)
    facts = _facts(delivery, batch_size, step_ms, loop_ms)
    if format == "json":
        said = {
            "verdict": verdict.status,
            "summary": verdict.summary,
            "next_steps": list(verdict.next_steps),
        }
        print(json.dumps({**said, **facts}, indent=2))
    else:
        _print(verdict, facts)
    return 0


def _recorded_step_ms(path: str) -> float | None:
    """The time of a step of a recording without its wait for input; None without steps."""
    import stepscope

    with contextlib.closing(stepscope.open(path)) as session:
        overview = session.overview_page()
    mean = overview.steps.time_ms.mean
    if not overview.steps.count or mean is None:
        return None
    left_out = (overview.breakdown_ms.get(part) or 0.0 for part in ("input", "recorder"))
    return float(mean - sum(left_out))


def _facts(
    delivery: Delivery, batch_size: int | None, step_ms: float | None, loop_ms: float | None
) -> dict[str, Any]:
    elements = delivery.elements if batch_size is None else delivery.batches * batch_size
    seconds = delivery.seconds
    return {
        "batches": delivery.batches,
        "seconds": seconds,
        "batches_per_s": delivery.batches / seconds,
        "elements_per_s": None if elements is None else elements / seconds,
        "bytes_per_s": None if delivery.bytes is None else delivery.bytes / seconds,
        "batch_ms": delivery.batch_ms,
        "batch_p50_ms": delivery.wait_ms(0.5),
        "batch_p95_ms": delivery.wait_ms(0.95),
        "first_batch_ms": 1e3 * delivery.first_seconds,
        "restarts": delivery.starts,
        "restart_ms": 1e3 * delivery.start_seconds / delivery.starts if delivery.starts else None,
        "step_ms": step_ms,
        "loop_ms": loop_ms,
    }


def _print(verdict: LoaderVerdict, facts: dict[str, Any]) -> None:
    from stepscope.quantities import milliseconds, number, size_words
    from stepscope.surfaces.cli.pages.page import Page

    page = Page.of_terminal()
    page.text(verdict.summary, style=f"bold {_STYLE[verdict.status]}".strip())
    page.blank()
    rate = f"{number(facts['batches_per_s'])} batches/s"
    if facts["elements_per_s"] is not None:
        rate += f" · {number(facts['elements_per_s'])} elements/s"
    if facts["bytes_per_s"] is not None:
        rate += f" · {size_words(facts['bytes_per_s'])}/s"
    lines = [
        ("Pipeline only", rate),
        (
            "A batch",
            f"{milliseconds(facts['batch_ms'])} mean · {milliseconds(facts['batch_p50_ms'])} "
            f"median · {milliseconds(facts['batch_p95_ms'])} p95",
        ),
        ("First batch", milliseconds(facts["first_batch_ms"])),
    ]
    if facts["restarts"]:
        again = f"{facts['restarts']} times, {milliseconds(facts['restart_ms'])} each"
        lines.append(("Began again", again))
    if facts["step_ms"] is not None:
        lines.append(("Step only", milliseconds(facts["step_ms"])))
    if facts["loop_ms"] is not None:
        lines.append(("Both", f"{milliseconds(facts['loop_ms'])} per turn of the loop"))
    for label, text in lines:
        page.line(f"  {label:<13}  ", text)
    page.blank()
    for text in verdict.next_steps:
        page.text(text, indent=2, lead="→ ")
    page.print()


COMMAND = loader
