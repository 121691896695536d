"""The stage of an input pipeline that holds the step up, for the rules that say how to fix it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.results import Results
from stepscope.quantities import size_words
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref
from stepscope.tables.steps.bottleneck import INPUT_SOME_FRAC

if TYPE_CHECKING:
    from stepscope.analysis.tf_data_bottleneck_analysis import (
        Bottleneck,
        TfDataBottleneckAnalysis,
    )

# Elements per batch from which a generator does not make whole batches; calls at the edges of a
# recording are counted with too few or too many.
SEVERAL = 1.5
# Rules that see the symptoms of a slow stage; a rule that names the stage comes before them.
STARVED = ("input-bound", "uneven-steps")
# Up to this time a call is mostly overhead of tf.data; this many of them make a batch expensive.
CHEAP_US = 200.0
MANY_CALLS = 16
# From these shares of its functions' op time on a stage runs Python, or reads files, for the most
# part: what helps is another thing then.
_PYTHON_FRAC, _READ_FRAC = 0.5, 0.3
# So many ops are named, each with this share of what the functions run; fewer, where they have less
# than half of it.
_OPS, _OP_FRAC, _MAIN_FRAC = 3, 0.1, 0.5
# An element of more than this many times the size of what it is made of, or what is left of it, is
# large: numbers of one byte become floats of four.
_MUCH = 4.0
_SHRINK = "Scale, crop or cast the elements before the stage that makes them that large, not after."
# Iterators that run a function of the program over elements.
_HAS_FUNCTION = re.compile(r"Map|Filter|Interleave|Scan|Window")


@dataclass(frozen=True, slots=True)
class InputStage:
    """What rules about a pipeline share.

    Attributes:
        step_ms: Mean step.
        wait_ms: Its part in which it waits for input.
        stage: The bottleneck, as tf_data_bottleneck_analysis describes it.
        knobs: The changes that apply, by name; values are ms per step they are predicted to gain.
        path: Iterators from the program down to the bottleneck, without "Iterator::Root".
        ops: Types of the ops that have most of the time of the pipelines' functions, with their
            shares of it; empty where none have, or the bottleneck runs none.
        is_alone: Whether no other stage has a function, so that these are the bottleneck's.
    """

    step_ms: float
    wait_ms: float
    stage: Bottleneck
    knobs: dict[str, float]
    path: tuple[str, ...]
    ops: tuple[tuple[str, float], ...] = ()
    is_alone: bool = True

    @property
    def makes_cheap_calls(self) -> bool:
        """Whether it is a map of many calls that cost tf.data more than its function."""
        stage = self.stage
        if stage.kind != "map" or not stage.elements >= MANY_CALLS:
            return False
        # Ops too short to be recorded leave no share; the machine may be busy with other things.
        most = CHEAP_US if stage.overhead_frac is not None else 5 * CHEAP_US
        return bool(stage.element_us <= most)

    @property
    def is_mostly_python(self) -> bool:
        """Whether its functions spend half of their op time in Python."""
        return self.stage.python_frac >= _PYTHON_FRAC

    @property
    def reads_files(self) -> bool:
        """Whether its functions spend much of their op time reading files."""
        return self.stage.read_frac >= _READ_FRAC

    @property
    def leaf(self) -> str:
        """The bottleneck's iterator."""
        return self.path[-1]


def input_stage(results: Results) -> InputStage | Silence | Unknown:
    """The bottleneck of a step that waits for tf.data, or why there is none that matters."""
    overview, found = results.overview_page, results.tf_data_bottleneck_analysis
    step = overview.steps.time_ms.mean
    if not step > 0:
        return NO_STEPS
    wait = overview.breakdown_ms["input"]
    if wait < INPUT_SOME_FRAC * step:
        return Silence(f"Waiting for input costs {wait / step:.1%} of the step.")
    if found.bottleneck is None:
        return Unknown("The step waits for input, but no iterator of tf.data holds it up.")
    stage = found.bottleneck
    # A pipeline may be called several times a step, so shares of its period scale to the step.
    knobs = {
        one.knob: nan if one.gain_frac is None else min(one.gain_frac * step, wait)
        for one in found.knobs
        if one.applies
    }
    path = tuple(part for part in stage.long_name.split("::")[1:] if part != "Root")
    is_alone = not _has_other_functions(found, stage)
    return InputStage(step, wait, stage, knobs, path, main_ops(found), is_alone)


def main_ops(found: TfDataBottleneckAnalysis) -> tuple[tuple[str, float], ...]:
    """The types of ops that the pipelines' functions mostly run, with their shares."""
    stage = found.bottleneck
    if stage is None or stage.kind != "map":
        return ()
    times: dict[str, float] = {}
    for one in found.function_ops.records():
        if one.host == stage.host and not one.type.endswith("Dataset"):
            times[one.type] = times.get(one.type, 0.0) + one.self_time_ms
    whole = sum(times.values())
    longest = sorted(times, key=lambda name: -times[name])[:_OPS]
    shown = tuple((op, times[op] / whole) for op in longest if times[op] >= _OP_FRAC * whole > 0)
    return shown if sum(share for _op, share in shown) >= _MAIN_FRAC else ()


def said_main_ops(found: TfDataBottleneckAnalysis) -> str:
    """What a pipeline's functions run, as a sentence to go on with; "" unknown."""
    stage = found.bottleneck
    is_alone = stage is None or not _has_other_functions(found, stage)
    return _said_ops(main_ops(found), is_alone=is_alone)


def _said_ops(ops: tuple[tuple[str, float], ...], *, is_alone: bool) -> str:
    """The same of these ops; where several stages have functions, whose they are is unknown."""
    whose = "Its function mostly runs" if is_alone else "The pipeline's functions mostly run"
    listed = " and ".join(", ".join(f"{op} ({share:.0%})" for op, share in ops).rsplit(", ", 1))
    return f" {whose} {listed}." if ops else ""


def shrinks(stage: Bottleneck) -> bool:
    """Whether later stages leave little of the elements that a stage makes."""
    return stage.size_bytes > _MUCH * stage.into_bytes


def _said_sizes(leaf: str, stage: Bottleneck) -> str:
    """What a stage makes much of, and what becomes of it; "" where neither is unusual."""
    grows = stage.size_bytes > _MUCH * stage.from_bytes
    if not grows and not shrinks(stage):
        return ""
    made = f", made of {size_words(stage.from_bytes)}" if grows else ""
    left = f"; later stages leave {size_words(stage.into_bytes)} of it" if shrinks(stage) else ""
    size = size_words(stage.size_bytes)
    return f" Each element of {leaf} is {stage.shape}, {size}{made}{left}."


def _has_other_functions(found: TfDataBottleneckAnalysis, stage: Bottleneck) -> bool:
    nodes = [] if found.graph is None else list(found.graph.nodes.records())
    return any(
        _HAS_FUNCTION.search(one.iterator) and one.long_name != stage.long_name for one in nodes
    )


def stage_finding(
    rule: Rule,
    found: InputStage,
    saving_ms: float,
    message: str,
    *,
    title: str = "",
    confidence: float,
    actions: tuple[str, ...],
    code: str,
    measured: Mapping[str, float | str] | None = None,
    place: Place | None = None,
    beside_ms: float = 0.0,
) -> Iterator[Answer]:
    """The finding about a stage; silence where it would save nothing.

    ``beside_ms`` is what the step's own ops gain at most by the cores that the stage leaves them.
    """
    if not saving_ms > 0:
        yield Silence("The step would wait as long without it.")
        return
    stage = found.stage
    yield Finding(
        rule=rule.id,
        severity=severity_of(saving_ms, found.step_ms),
        saving_ms=saving_ms,
        saving_high_ms=max(found.wait_ms, saving_ms) + beside_ms,
        confidence=confidence,
        title=title,
        place=place,
        message=message
        + _said_ops(found.ops, is_alone=found.is_alone)
        + _said_sizes(found.leaf, stage),
        measured={
            "iterator": stage.long_name,
            "input_wait_ms": found.wait_ms,
            "step_time_ms": found.step_ms,
            "stage_wait_us": stage.self_time_us,
            "below_ms": max(found.wait_ms, saving_ms) + beside_ms if beside_ms else 0.0,
            "step_after_ms": found.step_ms - saving_ms,
            **(measured or {}),
        },
        evidence=(
            Ref("tf_data_bottleneck_analysis", found.leaf, rows=(stage.long_name,)),
            Ref("input_pipeline_analyzer"),
        ),
        actions=(*([_SHRINK] if shrinks(stage) else []), *actions),
        code={"tensorflow": code},
    )
