"""TensorFlow programs that record themselves: ``python -m tests.live.recorded_tensorflow FOLDER``.

Each goes to a log directory of its own; what it knows of itself is written to ``facts.json``.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import stepscope

FOLDER = Path(sys.argv[1])
STEPS = 12


def options(**more: Any) -> stepscope.ProfilerOptions:
    """One chunk, and all the time there is: on a busy machine a few steps may take seconds."""
    return stepscope.ProfilerOptions(**{"chunk_seconds": None, "stop_seconds": 600.0, **more})


def told(capture: stepscope.Capture | None) -> dict[str, Any]:
    """A recording's result as JSON can hold it."""
    assert capture is not None
    return {
        "path": capture.path,
        "events": capture.events,
        "counts": capture.counts,
        "warnings": [note.message for note in capture.warnings if note.severity != "info"],
    }


def pipeline() -> Any:
    data = np.random.default_rng(0).random((64, 32), dtype=np.float32)
    target = np.zeros(64, np.int64)
    return tf.data.Dataset.from_tensor_slices((data, target)).repeat().batch(8).prefetch(2)


@tf.function
def train_step(model: Any, batch: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(batch) ** 2)
    for variable, slope in zip(
        model.trainable_variables, tape.gradient(loss, model.trainable_variables), strict=True
    ):
        variable.assign_sub(0.01 * slope)
    return loss


def new_model() -> Any:
    model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64), keras.layers.Dense(4)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def fit() -> dict[str, Any]:
    callback = stepscope.keras.Callback(
        FOLDER / "fit", profile_batch=f"5,{4 + STEPS}", options=options()
    )
    new_model().fit(pipeline(), steps_per_epoch=20, epochs=2, verbose=0, callbacks=[callback])
    return told(callback.capture)


def steady_fit() -> dict[str, Any]:
    callback = stepscope.keras.Callback(
        FOLDER / "steady", steps=STEPS, options=options(), verbose=False
    )
    new_model().fit(pipeline(), steps_per_epoch=100, verbose=0, callbacks=[callback])
    return told(callback.capture)


def custom_loop() -> dict[str, Any]:
    model, data = new_model(), iter(pipeline())
    train_step(model, next(data)[0])
    large = tf.ones((512, 512))
    with stepscope.Profile(FOLDER / "custom", options()) as profile:
        for number in range(STEPS):
            with stepscope.Trace("train", step_num=number, _r=1, who="a,b#c=é", share=0.5):
                train_step(model, next(data)[0])
                # Small tensors come from a pool that reports nothing.
                tf.linalg.matmul(large, large)
    return told(profile.capture)


def unmarked() -> dict[str, Any]:
    model, data = new_model(), iter(pipeline())
    train_step(model, next(data)[0])
    stepscope.start(FOLDER / "unmarked", options())
    for _ in range(2 * STEPS):
        train_step(model, next(data)[0])
    return told(stepscope.stop())


def threads() -> dict[str, Any]:
    square = tf.function(lambda x: tf.reduce_sum(x @ x))
    value = tf.ones((64, 64))
    square(value)

    # Alive together: the number of a thread that has ended may be given to the next.
    together = threading.Barrier(3)

    def work(name: str) -> None:
        together.wait()
        for _ in range(20):
            with stepscope.Trace(name):
                square(value)
        together.wait()

    with stepscope.Profile(FOLDER / "threads", options()) as profile:
        workers = [threading.Thread(target=work, args=(f"worker {n}",)) for n in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return told(profile.capture)


def levels() -> dict[str, Any]:
    """How many of TensorFlow's events each level gives for the same work."""
    model, data = new_model(), iter(pipeline())
    train_step(model, next(data)[0])
    found = {}
    for name, chosen in {
        "0": options(host_tracer_level=0, sample_hz=0, telemetry_hz=0),
        "1": options(host_tracer_level=1, sample_hz=0, telemetry_hz=0),
        "2": options(host_tracer_level=2, sample_hz=0, telemetry_hz=0),
        "3": options(host_tracer_level=3, sample_hz=0, telemetry_hz=0),
        "2 and python": options(python_tracer_level=1, sample_hz=0, telemetry_hz=0),
    }.items():
        with stepscope.Profile(FOLDER / "levels", chosen) as profile:
            for _ in range(10):
                train_step(model, next(data)[0])
        found[name] = told(profile.capture)
    return found


def chunks() -> dict[str, Any]:
    model, data = new_model(), iter(pipeline())
    train_step(model, next(data)[0])
    with stepscope.Profile(FOLDER / "chunks", options(chunk_seconds=0.2)) as profile:
        for number in range(60):
            with stepscope.step(number):
                train_step(model, next(data)[0])
                threading.Event().wait(0.01)
    return told(profile.capture)


def taken() -> dict[str, Any]:
    """TensorFlow's profiler is held by the program itself."""
    model, data = new_model(), iter(pipeline())
    tf.profiler.experimental.start(str(FOLDER / "theirs"))
    with stepscope.Profile(FOLDER / "taken") as profile:
        for number in range(3):
            with stepscope.step(number):
                train_step(model, next(data)[0])
    tf.profiler.experimental.stop()
    return told(profile.capture)


def main() -> None:
    every = (fit, steady_fit, custom_loop, unmarked, threads, levels, chunks, taken)
    facts = {program.__name__: program() for program in every}
    (FOLDER / "facts.json").write_text(json.dumps(facts), "utf-8")


if __name__ == "__main__":
    main()
