"""Facts that conditions and texts of causes read, by provider: numbers and names, never words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
from typing import TYPE_CHECKING, Final

from stepscope.advice.render import below, listed, unknown
from stepscope.advice.results import Results
from stepscope.records import dataclass
from stepscope.registry import Silence, Unknown
from stepscope.result import Place, Ref
from stepscope.tables.core.thresholds import (
    CALLS_PER_BATCH,
    CHEAP_CALL_US,
    FEW,
    HALF_FRAC,
    PART_FRAC,
    SOME_FRAC,
)

if TYPE_CHECKING:
    from stepscope.analysis.tf_data_bottleneck_analysis import (
        TfDataBottleneckAnalysis,
    )

# Readers of files, and what joins the datasets that a function makes.
_READERS: Final = (
    "TFRecord", "TextLine", "FixedLengthRecord", "CSV", "SSTable", "RecordIO", "FlatMap",
)  # fmt: skip
_INTERLEAVES: Final = "ParallelInterleave"
# Iterators that only pass batches on.
_PASSES_ON: Final = ("Root", "Model", "Prefetch")


@dataclass(frozen=True, slots=True)
class Facts:
    """Known facts of one thing that causes are about.

    Attributes:
        values: Facts by name; the ending of a name is its unit.
        step_ms: The mean step.
        evidence: Where to see them.
        place: Where in the program it is.
    """

    values: Mapping[str, float | str]
    step_ms: float
    evidence: tuple[Ref, ...] = ()
    place: Place | None = None


def tf_data(results: Results) -> Facts | Silence | Unknown:
    """Return the bottleneck of a step that waits for tf.data, or why there is none."""
    overview, found = results.overview_page, results.tf_data_bottleneck_analysis
    step = overview.steps.time_ms.mean
    if not step > 0:
        return unknown("no_steps")
    wait = overview.breakdown_ms["input"]
    if wait < SOME_FRAC * step:
        return below(wait, step, SOME_FRAC)
    stage = found.bottleneck
    if stage is None:
        return unknown("no_stage")
    path = [part for part in stage.long_name.split("::")[1:] if part != "Root"]
    leaf = path[-1]
    # A pipeline may be called several times a step, so shares of its period scale to the step.
    gains = {
        f"gain_{one.knob}_ms": nan if one.gain_frac is None else min(one.gain_frac * step, wait)
        for one in found.knobs
    }
    overhead_us = CHEAP_CALL_US * (1 if stage.overhead_frac is not None else 5)
    values: dict[str, float | str | None] = {
        "iterator": stage.long_name,
        "leaf": leaf,
        "kind": stage.kind.replace(" ", "-"),
        "maker": stage.maker.rpartition("::")[2] or leaf,
        "input_wait_ms": wait,
        "step_time_ms": step,
        "stage_wait_us": stage.self_time_us,
        "parallelism": stage.parallelism,
        "cores": stage.cores,
        "threads": stage.threads,
        "elements_per_batch": stage.elements,
        "element_us": stage.element_us,
        "datasets": stage.datasets,
        "python_frac": stage.python_frac,
        "read_frac": stage.read_frac,
        "kept_frac": stage.kept_frac,
        "is_random": float(stage.is_random),
        "is_repeated": float(stage.is_repeated),
        "has_cache": float(stage.has_cache),
        "is_reader": float(leaf.startswith(_READERS)),
        "is_interleaved": float(_INTERLEAVES in stage.long_name),
        "makes_cheap_calls": float(
            stage.kind == "map"
            and stage.elements >= CALLS_PER_BATCH
            and stage.element_us <= overhead_us
        ),
        "batch_made_frac": _making_ms(found) / step,
        "main_ops": listed(main_ops(found)),
        "element_shape": stage.shape or None,
        **gains,
    }
    return Facts(
        {name: value for name, value in values.items() if value is not None},
        step,
        (Ref("tf_data_bottleneck_analysis", "pipelines.bottleneck_us", rows=(stage.long_name,)),),
    )


def main_ops(found: TfDataBottleneckAnalysis) -> tuple[tuple[str, float], ...]:
    """Return the types of ops that the pipelines' functions mostly run, with their shares."""
    stage = found.bottleneck
    if stage is None or stage.kind != "map":
        return ()
    times: dict[str, float] = {}
    for one in found.function_ops.records():
        if one.host == stage.host and not one.type.endswith("Dataset"):
            times[one.type] = times.get(one.type, 0.0) + one.self_time_ms
    whole = sum(times.values())
    longest = sorted(times, key=lambda name: -times[name])[:FEW]
    part = PART_FRAC
    shown = tuple((op, times[op] / whole) for op in longest if times[op] >= part * whole > 0)
    return shown if sum(share for _op, share in shown) >= HALF_FRAC else ()


def _making_ms(found: TfDataBottleneckAnalysis) -> float:
    """Return the work that is in one batch; infinite where it is not known."""
    nodes = [] if found.graph is None else list(found.graph.nodes.records())
    stages = [one for one in nodes if one.iterator not in _PASSES_ON]
    return sum(one.self_us for one in stages) / 1e3 if stages else float("inf")


#: Providers by name.
PROVIDERS: Final[Mapping[str, Callable[[Results], Facts | Silence | Unknown]]] = {
    "tf_data": tf_data,
}
