"""Python makes the elements.

What it checks: whether the stage that the step waits for is a generator, or a map whose function
spends half its time in Python (py_function, numpy_function).
Why it matters: Python runs one thread at a time; it also blocks the thread that trains.
What to do: TensorFlow ops, or files made offline; else fewer and larger calls.
When it is wrong: the Python function only waits (network, disk): then more parallel calls help.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence import makers
from stepscope.advice.evidence.input_stage import (
    SEVERAL,
    STARVED,
    InputStage,
    input_stage,
    stage_finding,
)
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref
from stepscope.schema import names

# Python with this share of the host's cores slows the step's ops down. With the larger one, more
# workers find no core.
_SHARE_FRAC, _FEW_CORES_FRAC = 0.15, 0.3
# Shares of the step, or of its wait for a batch that is ready, from which a Python function
# beside it is taken to hold the interpreter.
_LOCK_FRAC = 0.3


def python_in_pipeline(results: Results) -> Iterator[Answer]:
    """Fires when the step waits 5 % for Python elements, or 30 % for the lock they hold."""
    found = input_stage(results)
    if not isinstance(found, InputStage):
        held = _lock_held(results)
        yield found if held is None else held
        return
    stage = found.stage
    if stage.kind == "hand-over" and found.is_mostly_python:
        yield from _late_for_the_lock(results, found)
        return
    is_source = stage.kind == "python source"
    if not is_source and not (stage.kind == "map" and found.is_mostly_python):
        yield Silence(f"{found.leaf}, which the step waits for, runs hardly any Python.")
        return
    is_whole = is_source and stage.elements < SEVERAL
    # Keras feeds a PyDataset through a generator of its own: the program may have none.
    what = "Python code makes" if is_whole else _MAKERS[is_source]
    made = "whole batches" if is_whole else "the elements one at a time"
    maker = makers.maker(results.optional.step_account)
    taken = _core_frac(results, found)
    for_batches = _OF_BATCHES if taken < _FEW_CORES_FRAC else _OF_BATCHES[::-1]
    yield from stage_finding(
        RULE,
        found,
        found.knobs.get("native_function", 0.0),
        f"{what} {made}, and the step waits {found.wait_ms:.3g} of "
        f"{found.step_ms:.3g} ms for them.{_said_cores(results, taken)}{makers.said(maker)}",
        title=f"{what} {made}",
        confidence=0.6,
        actions=(*makers.asked(maker), *(for_batches if is_whole else _ACTIONS)),
        code=_OF_KERAS if is_whole else _CODE,
        measured={"python_frac": 1.0 if is_source else stage.python_frac},
        place=makers.place(maker),
        beside_ms=taken * (found.step_ms - found.wait_ms),
    )


def _core_frac(results: Results, found: InputStage) -> float:
    """The share of the cores that the steps compute on which Python takes; 0 where it is little.

    0 as well where a device computes them, or the number of cores is not known.
    """
    run, stage = results.overview_page.environment, found.stage
    busy_us = stage.element_us * stage.elements
    if run.device_count or not run.host_cores or not busy_us > 0:
        return 0.0
    taken = min(busy_us / 1000 / found.step_ms, 1.0) / run.host_cores
    return taken if taken >= _SHARE_FRAC else 0.0


def _said_cores(results: Results, taken_frac: float) -> str:
    if not taken_frac:
        return ""
    cores = results.overview_page.environment.host_cores
    return (
        f" It is at work for {taken_frac * cores:.0%} of the time, on one of the {cores} cores "
        "that the step's ops compute on."
    )


def _late_for_the_lock(results: Results, found: InputStage) -> Iterator[Answer]:
    """A batch that is ready, and is handed over when Python in the pipeline lets go of its lock.

    What such a function has made is Python's until the batch that was there before is freed.
    """
    python_ms = _python_frac(results) * found.step_ms
    if python_ms < _LOCK_FRAC * found.wait_ms:
        yield Silence(
            f"Python in the pipeline runs for {python_ms:.3g} ms of each step, and the step waits "
            f"{found.wait_ms:.3g} ms for {found.leaf}."
        )
        return
    maker = makers.maker(results.optional.step_account)
    yield from stage_finding(
        RULE,
        found,
        min(python_ms, found.wait_ms),
        f"The step waits {found.wait_ms:.3g} of {found.step_ms:.3g} ms for {found.leaf}, whose "
        f"batch is ready. Meanwhile a Python function in map runs, {python_ms:.3g} ms of each "
        f"step, and holds the lock that the hand-over needs.{makers.said(maker)}",
        title="A Python function in map holds the lock",
        confidence=0.6,
        actions=(*makers.asked(maker), *_ACTIONS),
        code=_CODE,
        measured={"python_frac": python_ms / found.step_ms},
        place=makers.place(maker),
    )


def _python_frac(results: Results) -> float:
    """The share of the recording in which functions of the pipeline run Python."""
    ops = results.tf_data_bottleneck_analysis.function_ops.records()
    python_ms = sum(one.self_time_ms for one in ops if one.type in names.PYTHON_OPS)
    recorded_ms = float(results.overview_page.environment.profile_duration_ms)
    # Parallel calls wait for each other's lock, so their times may exceed the recording.
    return min(python_ms / recorded_ms, 1.0) if recorded_ms > 0 else 0.0


def _lock_held(results: Results) -> Finding | None:
    """Python beside the step that keeps the step's own Python from running, or None.

    The pipeline runs ahead, so nobody waits for a batch; but while its function holds the
    interpreter's lock, the loop cannot dispatch, and nothing computes.
    """
    host = results.optional.host_activity
    if host is None or not host.step_time_ms > 0:
        return None
    step, share = host.step_time_ms, _python_frac(results)
    saving = min(share * step, host.idle_ms)
    if saving < _LOCK_FRAC * step:
        return None
    maker = makers.maker(results.optional.step_account)
    return Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        confidence=0.5,
        place=makers.place(maker),
        message=f"A Python function in the input pipeline runs for {share:.0%} of the time, and "
        f"meanwhile nothing computes for {host.idle_ms:.3g} of each {step:.3g} ms step: it holds "
        f"the interpreter, which the training loop needs, too.{makers.said(maker)}",
        measured={"python_frac": share, "idle_ms": host.idle_ms, "step_time_ms": step},
        evidence=(
            Ref("tf_data_bottleneck_analysis", "function_ops"),
            Ref("host_activity", "idle_ms"),
        ),
        actions=(*makers.asked(maker), *_ACTIONS),
        code={"tensorflow": _CODE},
    )


# By whether the stage is a source.
_MAKERS = ("A Python function in map makes", "A Python generator makes")
_OF_BATCHES = (
    "Make batches ahead: of a Keras PyDataset with more workers and a longer max_queue_size, of "
    "processes where the work holds Python's lock; of a generator with prefetch after it.",
    "Look at what makes a batch: a search through all data for each sample (index it once, by a "
    "dict or a sort), more work than is used (a whole scan rotated or resized, and a patch cut out "
    "of it: cut first, with a margin), reading, decompressing, a lock that its workers share.",
)
_OF_KERAS = "Batches(workers=4, use_multiprocessing=True, max_queue_size=16)  # a PyDataset"
_ACTIONS = (
    "Write the function in TensorFlow ops, or do its work offline (TFRecord files).",
    "Until then yield whole batches from the generator, and give map num_parallel_calls.",
)
_CODE = "dataset = dataset.map(function_of_tf_ops, num_parallel_calls=tf.data.AUTOTUNE)"

RULE = Rule(
    id="python-in-pipeline",
    check=python_in_pipeline,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    optional=("host_activity", "step_account"),
    parts=("input",),
    doc=__doc__ or "",
    change=SUPPLIED,
    title="Python makes the elements",
    threshold="the step waits ≥ 5 % for elements made in Python, or for Python's lock",
    cause_of=STARVED,
)
