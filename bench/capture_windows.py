"""One framework in one process: the same steps without, under its own, and under our profiler.

python -m bench.capture_windows tensorflow|jax|torch|python ROUNDS

Windows of a fraction of a second alternate, so that what the machine does beside them falls on
all alike; the answer is the median over rounds of each window's time by that of the unprofiled
window next to it. Prints JSON.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

WINDOW_SECONDS: Final = 0.4
Steps = Callable[[int], None]
Recording = Callable[[], AbstractContextManager[Any]]


def tensorflow_steps() -> Steps:
    """A small dense network in a tf.function."""
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Dense(256, "relu") for _ in range(4)])
    optimizer = tf.keras.optimizers.SGD(0.01)
    batch = tf.random.normal((256, 256))
    model(batch)

    def one_step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(batch) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    step = tf.function(one_step)

    def run(count: int) -> None:
        for _ in range(count):
            step()

    return run


def jax_steps() -> Steps:
    """A small dense network under jit."""
    import jax
    import jax.numpy as jnp

    weights = [jnp.ones((256, 256)) * 0.01 for _ in range(4)]
    batch = jnp.ones((256, 256))

    def loss(given: list[Any]) -> Any:
        x = batch
        for one in given:
            x = jax.nn.relu(x @ one)
        return (x**2).mean()

    def one_step(given: list[Any]) -> list[Any]:
        slopes = jax.grad(loss)(given)
        return [one - 0.01 * slope for one, slope in zip(given, slopes, strict=True)]

    step = jax.jit(one_step)

    def run(count: int) -> None:
        held = weights
        for _ in range(count):
            held = step(held)
        jax.block_until_ready(held)

    return run


def torch_steps() -> Steps:
    """A small convolutional network, eager."""
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(12544, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images, labels = torch.randn(32, 1, 30, 30), torch.zeros(32, dtype=torch.long)

    def run(count: int) -> None:
        for _ in range(count):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return run


def python_steps() -> Steps:
    """Python and NumPy, about half and half."""
    import numpy as np

    matrix = np.ones((200, 200))

    def inner(count: int) -> int:
        return sum(i * i for i in range(count))

    def run(count: int) -> None:
        for _ in range(count):
            inner(5000)
            matrix @ matrix

    return run


@contextmanager
def theirs(framework: str, folder: Path) -> Any:
    """The framework's own profiler, to its own files, at the levels that ours is given."""
    if framework == "tensorflow":
        import tensorflow as tf

        with tf.profiler.experimental.Profile(str(folder)):
            yield
    elif framework == "jax":
        import jax

        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        jax.profiler.start_trace(folder, profiler_options=options)
        try:
            yield
        finally:
            jax.profiler.stop_trace()
    else:
        import torch

        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, acc_events=False
        ) as profile:
            yield
        profile.export_chrome_trace(str(folder / "trace.json"))


@contextmanager
def ours(folder: Path, **options: Any) -> Any:
    """Our recording."""
    import stepscope

    stepscope.start(folder, stepscope.ProfilerOptions(**options))
    held: dict[str, Any] = {}
    try:
        yield held
    finally:
        held["capture"] = stepscope.stop()


def timed(run: Steps, count: int, recording: AbstractContextManager[Any]) -> tuple[float, float]:
    """Seconds of the steps alone, and of ending the recording."""
    gc.collect()
    with recording:
        began = time.perf_counter()
        run(count)
        ended = time.perf_counter()
    return ended - began, time.perf_counter() - ended


def windows(framework: str, rounds: int, folder: Path) -> dict[str, Any]:
    """Ratios of each way of recording, and what ending it took."""
    run = {
        "tensorflow": tensorflow_steps,
        "jax": jax_steps,
        "torch": torch_steps,
        "python": python_steps,
    }[framework]()
    run(20)
    began = time.perf_counter()
    run(20)
    count = max(int(20 * WINDOW_SECONDS / (time.perf_counter() - began)), 5)
    bare: dict[str, Any] = {"sample_hz": 0, "telemetry_hz": 0}
    ways: dict[str, Recording] = {
        "ours": partial(ours, folder / "ours", **bare),
        "ours, all tracks": partial(ours, folder / "all"),
    }
    if framework == "python":
        ways = {
            "sampler": partial(ours, folder / "ours", telemetry_hz=0),
            "telemetry": partial(ours, folder / "ours", sample_hz=0),
        }
    else:
        ways["theirs"] = partial(theirs, framework, folder / "theirs")
        (folder / "theirs").mkdir()
    for recording in ways.values():  # not counted: what is loaded when first used
        timed(run, 5, recording())
    ratios: dict[str, list[float]] = {name: [] for name in ways}
    stops: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        names = list(ways)
        # Each way follows each other one equally often.
        for name in names[number % len(names) :] + names[: number % len(names)]:
            plain, _ = timed(run, count, nullcontext())
            seconds, stop = timed(run, count, ways[name]())
            again, _ = timed(run, count, nullcontext())
            ratios[name].append(seconds / ((plain + again) / 2))
            stops[name].append(stop)
    return {
        "framework": framework,
        "step_ms": 1e3 * plain / count,
        "ratio": {name: median(values) for name, values in ratios.items()},
        "rounds": ratios,
        "stop_seconds": {name: median(values) for name, values in stops.items()},
    }


def stop_cost(framework: str, folder: Path, events: int = 200_000) -> dict[str, float]:
    """Seconds and bytes of memory that ending a large recording takes, per million events."""
    run = {"tensorflow": tensorflow_steps, "torch": torch_steps}[framework]()
    options = {"sample_hz": 0, "telemetry_hz": 0, "chunk_seconds": None, "frameworks": (framework,)}
    with ours(folder, **options) as held:
        run(20)
    per_step = held["capture"].events / 20
    with ours(folder, **options) as held:
        run(int(events / per_step))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    capture = held["capture"]
    scale = 1e6 / capture.events
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "events": capture.events,
        "seconds_per_million": capture.stop_seconds * scale,
        "megabytes_per_million": (peak - before) * unit * scale / 1e6,
        "file_bytes_per_event": capture.bytes / capture.events,
    }


def main() -> None:
    """Measure what the arguments name and print it."""
    framework, rounds = sys.argv[1], int(sys.argv[2])
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    folder = Path(tempfile.mkdtemp(prefix="stepscope-bench-"))
    try:
        if rounds:
            found: dict[str, Any] = windows(framework, rounds, folder)
        else:
            found = stop_cost(framework, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
