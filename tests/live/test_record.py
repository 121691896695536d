"""Unmodified programs of real frameworks under ``stepscope record``."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.formats.xspace import decode

pytestmark = pytest.mark.slow

KERAS = """
import keras, numpy as np
model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64), keras.layers.Dense(4)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
x, y = np.ones((160, 32), "float32"), np.zeros(160, "int64")
model.fit(x, y, batch_size=16, epochs=3, validation_data=(x[:32], y[:32]), verbose=0)
"""

GRAPH = """
import tensorflow as tf
def distances(rows):
    apart = rows[:, None, :] - rows[None, :, :]
    return tf.reduce_sum(apart * apart, axis=-1)  # the place
@tf.function
def score(rows):
    with tf.GradientTape() as tape:
        tape.watch(rows)
        loss = tf.reduce_mean(tf.exp(-distances(rows)))
    return tape.gradient(loss, rows)
rows = tf.random.normal((256, 64))
for _ in range(400):
    rows += score(rows)
"""

SCAN = """
import jax, jax.numpy as jnp
w = jnp.eye(8) * 0.9
@jax.jit
def step(x):
    return jax.lax.scan(lambda c, _: (jnp.tanh(c @ w) + 0.1, None), x, None, 1000)[0]
x = jnp.ones((8, 8))
for _ in range(6000):
    x = step(x).block_until_ready()
"""

TRAINING = """
import time, torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(1500):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
    time.sleep(0.002)
"""

LAUNCHER = """
import multiprocessing, sys
def prepare():
    return sum(number * number for number in range(60_000))
def train():
    import torch
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(300):
        prepare()
        optimizer.zero_grad()
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()
if __name__ == "__main__":
    process = multiprocessing.get_context(sys.argv[1]).Process(target=train)
    process.start()
    process.join()
"""

OWN_TENSORFLOW = """
import sys, time
import tensorflow as tf
x = tf.ones((64, 64))
square = tf.function(lambda x: tf.reduce_sum(x @ x))
def before():
    for _ in range(20): square(x)
before(); time.sleep(0.2)
tf.profiler.experimental.start(sys.argv[1])
for _ in range(20): square(x)
tf.profiler.experimental.stop()
def after():
    with tf.profiler.experimental.Trace("afterwards"):
        for _ in range(20): square(x)
after(); time.sleep(0.2)
"""

OWN_JAX = """
import sys, time
import jax, jax.numpy as jnp
x = jnp.ones((64, 64))
square = jax.jit(lambda x: x @ x)
square(x).block_until_ready(); time.sleep(0.2)
jax.profiler.start_trace(sys.argv[1])
square(x).block_until_ready()
jax.profiler.stop_trace()
with jax.profiler.TraceAnnotation("afterwards"):
    square(x).block_until_ready()
time.sleep(0.2)
"""


def recorded(tmp_path: Path, code: str, *words: str, options: tuple[str, ...] = ()) -> Path:
    """The recording of a program of this text."""
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(code), "utf-8")
    record = [sys.executable, "-m", "stepscope", "record", "-q", "-o", "logs"]
    done = subprocess.run(
        [*record, *options, str(script), *words],
        cwd=tmp_path,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "init callback" not in done.stderr  # Kineto's complaint about the thread it begins on
    (path,) = (tmp_path / "logs").rglob("*.xplane.pb")
    return path


@pytest.mark.framework_tf
@pytest.mark.skipif(find_spec("keras") is None, reason="Keras is not installed")
def test_keras_fit_has_its_steps_and_its_memory_without_a_line_changed(tmp_path: Path) -> None:
    path = recorded(tmp_path, KERAS, options=("--full",))
    session = stepscope.open(path)
    steps = session.overview_page().steps
    # 3 epochs of 10 batches; the two at the edges are dropped. Those of validation are not
    # steps of the training. On a busy machine a chunk may end within the 60 ms of steps.
    assert steps.count + steps.dropped == 30 or steps.recorded_frac < 1
    assert steps.source == "markers"
    # Before the start the allocator was chosen that knows what it holds.
    assert any("bfc" in memory.id for memory in session.memory_profile().memories)


@pytest.mark.framework_tf
def test_ops_of_a_graph_are_placed_at_the_lines_that_made_them(tmp_path: Path) -> None:
    account = stepscope.open(recorded(tmp_path, GRAPH)).step_account()
    parts = [one for one in account.parts.records() if one.function == "distances"]
    lines = textwrap.dedent(GRAPH).splitlines()
    # What the recorder does when it begins is much of a short recording.
    rest_ms = account.step_time_ms - account.recorder_ms
    assert sum(one.time_ms for one in parts) > 0.3 * rest_ms
    assert {one.line for one in parts} <= {
        at for at, line in enumerate(lines, 1) if "apart" in line
    }
    assert all(one.caller.endswith("score") for one in parts)


@pytest.mark.framework_jax
def test_a_loop_inside_a_compiled_step_is_recorded_in_bursts(tmp_path: Path) -> None:
    path = recorded(tmp_path, SCAN)
    steps = stepscope.open(path).overview_page().steps
    # 6,000 events a step: all of them would be 36 million.
    assert 10 <= steps.count + steps.dropped < 3_000
    assert steps.recorded_frac < 0.9
    # No rest is taken for a step.
    assert steps.time_ms.max < 50 * steps.time_ms.median
    assert path.stat().st_size < 100e6
    # The program waits for each result: its reads are its steps.
    assert _is_timed(steps, "reads of results")
    assert steps.undisturbed_ms is None or steps.undisturbed_ms < steps.time_ms.median


@pytest.mark.framework_torch
def test_steps_of_a_training_are_timed_undisturbed(tmp_path: Path) -> None:
    steps = stepscope.open(recorded(tmp_path, TRAINING)).overview_page().steps
    assert steps.count + steps.dropped >= 10
    assert _is_timed(steps, "optimizer")
    assert steps.undisturbed_ms is None or steps.undisturbed_ms > 2.0  # it sleeps for 2 ms


@pytest.mark.framework_torch
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_loop_in_a_process_that_the_program_starts_is_what_is_told(
    tmp_path: Path, method: str
) -> None:
    session = stepscope.open(recorded(tmp_path, LAUNCHER, method))
    account = session.step_account()
    assert not account.is_window and account.has_ops
    # The parent waits in join; only the child prepares.
    assert account.part_list()[0].function == "prepare"
    place = session.advice().findings[0].place
    assert place is not None and place.function == "prepare"


@pytest.mark.framework_tf
def test_a_tensorflow_program_that_profiles_itself_is_not_disturbed(tmp_path: Path) -> None:
    _check_both(tmp_path, OWN_TENSORFLOW)


@pytest.mark.framework_jax
def test_a_jax_program_that_profiles_itself_is_not_disturbed(tmp_path: Path) -> None:
    _check_both(tmp_path, OWN_JAX)


def _is_timed(steps: Any, source: str) -> bool:
    """Whether undisturbed steps were timed by this, or on a busy machine found to be longer."""
    if steps.undisturbed_ms is None:
        return "steps while nothing recorded took" in steps.undisturbed
    return source in steps.undisturbed


def _check_both(tmp_path: Path, code: str) -> None:
    ours = decode(recorded(tmp_path, code, str(tmp_path / "theirs")).read_bytes())
    (theirs,) = (tmp_path / "theirs").rglob("*.xplane.pb")
    assert len(decode(theirs.read_bytes()).events) > 0
    # And ours goes on where theirs has ended, and says why steps are missing.
    assert "afterwards" in ours.event_metadata.name
    assert any("recorded itself with" in text for text in ours.warnings)
