"""Launching a kernel takes the host much longer than usual.

What it checks: the mean time of the host's calls that launch kernels, where the device waits for
launches at all, and whether the input pipeline of tf.data works on the same processor.
Why it matters: threads that launch kernels compete with the input pipeline for the cores; the
device waits although both seem idle most of the time.
What to do: give the launches threads of their own, and the pipeline fewer.
When it is wrong: memory is allocated between the kernels (cudaMalloc), a debugger or a recorder
hooks each call, or the process is pinned to few cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.device_time import SLOW_LAUNCH_US, launch_calls
from stepscope.advice.evidence.steps import MOSTLY_REPLAYED, NO_STEPS, replayed_frac
from stepscope.advice.parts.changes import BATCHED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.input_pipeline_analyzer import InputPipelineAnalyzer

# What a launch costs where nothing disturbs it.
_NORMAL_US = 10.0


def slow_launches(results: Results) -> Iterator[Answer]:
    """Fires when waiting for launches costs 3 % of the step and a launch takes 25 µs or more."""
    overview, idle = results.overview_page, results.device_idle
    step, launching = overview.steps.time_ms.mean, overview.breakdown_ms["kernel_launch"]
    if not step > 0:
        yield NO_STEPS
        return
    if launching < NEGLIGIBLE_FRAC * step:
        yield Silence(f"The device waits for launches {launching / step:.1%} of the step.")
        return
    calls, cost = launch_calls(idle)
    if not calls:
        yield Unknown("No call that launched a kernel was recorded.")
        return
    if cost < SLOW_LAUNCH_US:
        yield Silence(f"A launch takes {cost:.3g} µs, which is usual.")
        return
    replayed = replayed_frac(overview)
    if replayed >= MOSTLY_REPLAYED:
        yield Silence(
            f"{replayed:.0%} of the devices' time is replayed from graphs, of which each launch "
            "starts many kernels."
        )
        return
    work = _tf_data_ms(results.optional.input_pipeline_analyzer)
    expected = launching * (1 - _NORMAL_US / cost)
    busy = f" while tf.data works {work:.3g} ms per step on the same processor" if work else ""
    yield Finding(
        rule=RULE.id,
        severity=severity_of(expected, step),
        saving_ms=expected,
        saving_high_ms=launching,
        confidence=round((0.7 if work else 0.4) * overview.steps.confidence, 2),
        message=f"A launch takes {cost:.3g} µs, where {_NORMAL_US:.0f} µs are usual{busy}; the "
        f"device waits {launching:.3g} ms of each {step:.3g} ms step for launches.",
        measured={
            "mean_launch_us": cost,
            "launches_per_step": calls,
            "kernel_launch_ms": launching,
            "tf_data_ms": work,
        },
        evidence=(
            Ref("device_idle", "launches", rows=tuple(list(idle.launches["call"])[:3])),
            Ref("input_pipeline_analyzer", "input_ops"),
        ),
        actions=_ACTIONS if work else tuple(reversed(_ACTIONS)),
        code={
            "tensorflow": "os.environ['TF_GPU_THREAD_MODE'] = 'gpu_private'\n"
            "os.environ['TF_GPU_THREAD_COUNT'] = '2'\n"
            "options.threading.private_threadpool_size = 8  # of tf.data.Options()",
            "pytorch": "torch.set_num_threads(4)  # leave cores to the thread that launches",
        },
    )


_ACTIONS = (
    "[tensorflow: Let launches have threads of their own: TF_GPU_THREAD_MODE=gpu_private.]",
    "Limit the threads and processes of the input pipeline.",
    "Leave the launching thread a core: OMP_NUM_THREADS, "
    "[tensorflow: tf.config.threading.set_intra_op_parallelism_threads | jax: taskset | "
    "pytorch: torch.set_num_threads].",
    "Look in the timeline for what comes between the launches: allocations, locks, other "
    "threads on the core.",
)


def _tf_data_ms(pipeline: InputPipelineAnalyzer | None) -> float:
    """Self time per step of the input pipeline's ops (0 where there are none)."""
    if pipeline is None or not pipeline.step_count:
        return 0.0
    total = sum(time for time in pipeline.input_ops["self_time_ms"] if time == time)
    return float(total) / int(pipeline.step_count)


RULE = Rule(
    id="slow-launches",
    check=slow_launches,
    needs=("overview_page", "device_idle"),
    optional=("input_pipeline_analyzer",),
    evidence=("driver",),
    parts=("launch",),
    doc=__doc__ or "",
    change=BATCHED,
    title="Launches are slow",
    threshold="waiting for launches ≥ 3 % of the step and a launch ≥ 25 µs",
    symptom_of=(
        "start-up",
        "eager-execution",
    ),
)
