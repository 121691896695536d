"""Results of a run whose step waits for a stage of tf.data."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from stepscope.analysis.tf_data_bottleneck_analysis import Bottleneck, Knob

# A step of 100 ms that waits 60 ms for input; the pipeline is called once a step.
STEP_MS, WAIT_MS = 100.0, 60.0
SERIAL = Bottleneck(
    host="h",
    pipeline="Host:0",
    iterator="Map",
    long_name="Iterator::Root::Prefetch::BatchV2::Map",
    kind="map",
    self_time_us=50_000,
    self_time_frac=0.9,
    max_latency_us=70_000,
    wait_frac=0.6,
    wait_of="time between calls",
    wait_us=60_000,
    parallelism=1,
    cores=4,
    threads=4,
    elements=8,
    element_us=5_000,
)


def results(
    stage: Bottleneck | None,
    gains: dict[str, float | None],
    *,
    wait_ms: float = WAIT_MS,
    step_ms: float = STEP_MS,
    host_cores: int = 0,
) -> dict[str, Any]:
    """Results by tool id: the bottleneck, and by change the share of the step it would gain.

    With ``host_cores`` the host computes the steps, else a device does.
    """
    knobs = tuple(
        Knob(name, None if gain is None else gain * step_ms * 1e3, gain, "", "")
        for name, gain in gains.items()
    )
    overview = SimpleNamespace(
        steps=SimpleNamespace(
            time_ms=SimpleNamespace(mean=step_ms),
            confidence=1.0,
            count=10,
            source="markers",
            recorder_factor=1.0,
        ),
        breakdown_ms={"input": wait_ms, "host_to_device": 0.0, "other": 0.0},
        environment=SimpleNamespace(
            profile_duration_ms=1000.0,
            framework="TensorFlow",
            device_count=0 if host_cores else 1,
            host_cores=host_cores,
        ),
    )
    tf_data = SimpleNamespace(
        bottleneck=stage,
        knobs=knobs,
        function_ops=SimpleNamespace(records=list),
        graph=None,
    )
    return {"overview_page": overview, "tf_data_bottleneck_analysis": tf_data}
