"""Runs a program in stages, each with one fix more, and holds advice to what the fix gains.

For every stage: the step is timed, then recorded; advice names what to change and predicts the
step time after it; the next stage is that change. Predicted and measured times are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import stepscope

WARM_UP_STEPS = 10
# A step here is some ten milliseconds: the stacks of Python are looked at every two.
OPTIONS = stepscope.ProfilerOptions(sample_hz=500)
Step = Callable[[int], Any]


@dataclass(frozen=True)
class Stage:
    """One state of a program.

    Attributes:
        name: What it is now.
        fixes: The rule whose finding on the stage before this one follows; "" for the first.
        prepare: Makes the step; it is called with a number and returns when its work is done.
    """

    name: str
    fixes: str
    prepare: Callable[[], Step]


@dataclass(frozen=True)
class Outcome:
    """What was measured of a stage, and what was predicted for the next.

    Attributes:
        stage: Its name.
        step_ms: Median step, not recorded.
        recorded_ms: Mean step of the recording.
        first: The rule advice names first ("–": none).
        message: What that finding says.
        fix: The rule that the next stage follows; "" for the last.
        predicted: Speed-up that advice predicts for that fix; None where it does not.
        measured: Speed-up of the next stage; None for the last.
    """

    stage: str
    step_ms: float
    recorded_ms: float
    first: str
    message: str
    fix: str
    predicted: float | None
    measured: float | None


def run_stages(stages: Sequence[Stage], folder: Path, steps: int) -> list[Outcome]:
    """Measure, record and ask, stage after stage."""
    timed: list[tuple[float, stepscope.Session]] = []
    for place, stage in enumerate(stages):
        step = stage.prepare()
        run(step, 0, WARM_UP_STEPS)
        step_ms = statistics.median(run(step, WARM_UP_STEPS, steps))
        logdir = folder / f"{place}-{stage.name.replace(' ', '-')}"
        with stepscope.Profile(logdir, OPTIONS):
            run(step, WARM_UP_STEPS + steps, steps)
        timed.append((step_ms, stepscope.open(logdir)))
    return [_outcome(stages, timed, place) for place in range(len(stages))]


def run(step: Step, first: int, steps: int) -> list[float]:
    """Run steps, marked for the profiler; their times in ms."""
    times_ms = []
    for number in range(first, first + steps):
        began = time.perf_counter()
        with stepscope.Trace("train", step_num=number, _r=1):
            step(number)
        times_ms.append((time.perf_counter() - began) * 1e3)
    return times_ms


def _outcome(
    stages: Sequence[Stage], timed: list[tuple[float, stepscope.Session]], place: int
) -> Outcome:
    step_ms, session = timed[place]
    recorded_ms = session.overview_page().steps.time_ms.mean
    findings = session.findings()
    has_next = place + 1 < len(stages)
    fix = stages[place + 1].fixes if has_next else ""
    followed = next((one for one in findings if one.rule == fix), None)
    after = followed.measured.get("step_after_ms") if followed is not None else None
    return Outcome(
        stage=stages[place].name,
        step_ms=step_ms,
        recorded_ms=recorded_ms,
        first=findings[0].rule if findings else "–",
        message=findings[0].message if findings else "",
        fix=fix,
        predicted=recorded_ms / after if isinstance(after, float) and after > 0 else None,
        measured=step_ms / timed[place + 1][0] if has_next else None,
    )


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes for a person."""
    lines = [
        f"{'stage':28} {'step':>10}  {'advice: first':20} {'fix predicted':>13} {'measured':>9}"
    ]
    for one in outcomes:
        predicted = "–" if one.predicted is None else f"{one.predicted:.2f}×"
        measured = "–" if one.measured is None else f"{one.measured:.2f}×"
        lines.append(
            f"{one.stage:28} {one.step_ms:7.1f} ms  {one.first:20} {predicted:>13} {measured:>9}"
        )
    for one in outcomes:
        if one.message:
            lines.append(f"\n{one.stage}: {one.message}")
            lines += [f"  → next stage follows {one.fix}"] if one.fix else []
    return "\n".join(lines)


def main(description: str, stages: Sequence[Stage]) -> None:
    """The command line of a case study."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--logdir", help="where recordings go; by default they are not kept")
    parser.add_argument("--steps", type=int, default=40, help="steps to time, and to record")
    parser.add_argument("--json", help="also write the outcomes to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(arguments.logdir or scratch)
        outcomes = run_stages(stages, folder, arguments.steps)
    print(table(outcomes))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([asdict(one) for one in outcomes]), "utf-8")
