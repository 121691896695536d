"""How far recording shifts a part's share of the step, and how far the correction brings it back.

python -m bench.correction [--seconds S] [NAME …]
python -m bench.correction --run NAME SECONDS

Ten programs, each with parts of very different numbers of events. A program times its parts itself:
the run without a recorder tells the true shares. A second run is recorded, and its account is
summed twice: as recorded, and corrected (``tables.account``).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from pathlib import Path
from statistics import median
from typing import Any, Final
from unittest import mock

import numpy as np

import stepscope
from bench.machine import say
from bench.recordings import ROOT
from bench.report import aligned
from stepscope.columns.space import I64
from stepscope.tables.account import correction

FOLDER: Final = ROOT / ".stepscope" / "bench" / "correction"
WARM_UP: Final = 5
# Wanted: the median error of a part's share, in points.
WANTED_POINTS: Final = 5.0

Part = Callable[[], object]


def torch_small_and_large() -> tuple[Part, ...]:
    """Tiny ops one by one, a large product."""
    import torch

    small, large = torch.ones(8, 8), torch.ones(250, 250)

    def tiny_ops() -> object:
        x = small
        for _ in range(300):
            x = torch.tanh(x * 0.9 + 0.1)
        return x

    def large_product() -> object:
        return large @ large

    return tiny_ops, large_product


def torch_cells() -> tuple[Part, ...]:
    """A batch made in NumPy, a recurrent cell turn by turn with its gradient, the optimizer."""
    import torch

    cell, head = torch.nn.GRUCell(32, 64), torch.nn.Linear(64, 10)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()])
    rng = np.random.default_rng(1)
    held: dict[str, Any] = {}

    def make_batch() -> object:
        held["x"] = torch.from_numpy(rng.normal(size=(32, 20, 32, 6)).mean(axis=3).astype("f4"))
        return held

    def train_cells() -> object:
        state = torch.zeros(32, 64)
        for turn in range(20):
            state = cell(held["x"][:, turn], state)
        optimizer.zero_grad()
        head(state).square().mean().backward()
        return state

    def update_weights() -> object:
        optimizer.step()
        return optimizer

    return make_batch, train_cells, update_weights


def torch_python() -> tuple[Part, ...]:
    """Plain Python over words, an embedding of each word by itself, a convolution."""
    import torch

    words = [f"word{number % 977}" for number in range(4000)]
    table = torch.nn.Embedding(1000, 16)
    filters, image = torch.nn.Conv2d(8, 16, 3), torch.ones(4, 8, 64, 64)

    def count_words() -> object:
        counts: dict[str, int] = {}
        for word in words:
            counts[word[:5]] = counts.get(word[:5], 0) + 1
        return counts

    def embed_each() -> object:
        with torch.no_grad():
            return [table(torch.tensor(number)) for number in range(150)]

    def convolve() -> object:
        with torch.no_grad():
            return filters(image).relu()

    return count_words, embed_each, convolve


def torch_sleep() -> tuple[Part, ...]:
    """A wait for something outside, tiny ops one by one, a sort."""
    import torch

    small, many = torch.ones(4), torch.rand(60_000)

    def fetch() -> None:
        time.sleep(0.002)

    def tiny_sums() -> object:
        return [small.sum().item() for _ in range(400)]

    def sort_all() -> object:
        return torch.sort(many)

    return fetch, tiny_sums, sort_all


def jax_scan() -> tuple[Part, ...]:
    """A scan of 1,000 turns, a large product, NumPy."""
    import jax
    import jax.numpy as jnp

    weights, large = jnp.eye(8) * 0.9, jnp.ones((300, 300))

    @jax.jit
    def turns(x: Any) -> Any:
        return jax.lax.scan(lambda c, _: (jnp.tanh(c @ weights) + 0.1, None), x, None, 1000)[0]

    product = jax.jit(lambda x: x @ x)
    x, noise = jnp.ones((8, 8)), np.random.default_rng(1)

    def scan_turns() -> object:
        return turns(x).block_until_ready()

    def large_product() -> object:
        return product(large).block_until_ready()

    def draw_noise() -> object:
        return noise.normal(size=40_000)

    return scan_turns, large_product, draw_noise


def jax_eager() -> tuple[Part, ...]:
    """Tiny ops one by one, a compiled dense network, NumPy."""
    import jax
    import jax.numpy as jnp

    x, wide = jnp.ones((8, 8)), jnp.ones((64, 512))
    layers = [jnp.eye(512) for _ in range(4)]

    @jax.jit
    def network(x: Any) -> Any:
        for layer in layers:
            x = jnp.tanh(x @ layer)
        return x

    noise = np.random.default_rng(1)

    def tiny_ops() -> object:
        y = x
        for _ in range(60):
            y = jnp.tanh(y) * 0.9
        return y.block_until_ready()

    def dense_network() -> object:
        return network(wide).block_until_ready()

    def draw_noise() -> object:
        return noise.normal(size=40_000)

    return tiny_ops, dense_network, draw_noise


def jax_map() -> tuple[Part, ...]:
    """A map inside a map, parameters updated leaf by leaf."""
    import jax
    import jax.numpy as jnp

    @jax.jit
    def maps(x: Any) -> Any:
        return jax.lax.map(lambda row: jax.lax.map(lambda v: jnp.sin(v) * jnp.cos(v), row), x)

    grid, leaves = jnp.ones((32, 32, 16)), [jnp.ones((64, 64)) for _ in range(40)]

    def map_grid() -> object:
        return maps(grid).block_until_ready()

    def update_leaves() -> object:
        updated = [leaf - 0.1 * leaf for leaf in leaves]
        return [leaf.block_until_ready() for leaf in updated]

    return map_grid, update_leaves


def tf_eager() -> tuple[Part, ...]:
    """Tiny ops one by one, a large product, NumPy."""
    import tensorflow as tf

    small, large = tf.ones((8, 8)), tf.ones((250, 250))
    noise = np.random.default_rng(1)

    def tiny_ops() -> object:
        x = small
        for _ in range(150):
            x = tf.tanh(x * 0.9)
        return x

    def large_product() -> object:
        return tf.matmul(large, large)

    def draw_noise() -> object:
        return noise.normal(size=40_000)

    return tiny_ops, large_product, draw_noise


def tf_loop() -> tuple[Part, ...]:
    """A loop of 200 turns in a graph, a convolution, NumPy."""
    import tensorflow as tf

    weights, image, filters = tf.eye(8) * 0.9, tf.ones((4, 64, 64, 8)), tf.ones((3, 3, 8, 16))

    @tf.function
    def turns(x: Any) -> Any:
        return tf.while_loop(
            lambda i, _: i < 200, lambda i, c: (i + 1, tf.tanh(c @ weights) + 0.1), (0, x)
        )[1]

    convolution = tf.function(lambda x: tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME")))
    x, noise = tf.ones((8, 8)), np.random.default_rng(1)

    def loop_turns() -> object:
        return turns(x).numpy()

    def convolve() -> object:
        return convolution(image).numpy()

    def draw_noise() -> object:
        return noise.normal(size=40_000)

    return loop_turns, convolve, draw_noise


def tf_tape() -> tuple[Part, ...]:
    """A batch made in NumPy, an eager gradient of many layers, the optimizer in a graph."""
    import tensorflow as tf

    layers = [tf.Variable(tf.eye(32)) for _ in range(25)]
    rng = np.random.default_rng(1)
    held: dict[str, Any] = {}

    @tf.function
    def apply(gradients: Any) -> None:
        for layer, gradient in zip(layers, gradients, strict=True):
            layer.assign_sub(0.001 * gradient)

    def make_batch() -> object:
        held["x"] = rng.normal(size=(64, 32, 60)).mean(axis=2).astype("f4")
        return held

    def eager_gradient() -> object:
        with tf.GradientTape() as tape:
            x = tf.constant(held["x"])
            for layer in layers:
                x = tf.tanh(x @ layer)
            loss = tf.reduce_mean(x * x)
        held["gradients"] = tape.gradient(loss, layers)
        return held

    def apply_gradients() -> object:
        apply(held["gradients"])
        return layers[0].numpy()

    return make_batch, eager_gradient, apply_gradients


PROGRAMS: Final = {
    program.__name__: program
    for program in (
        torch_small_and_large, torch_cells, torch_python, torch_sleep, jax_scan, jax_eager,
        jax_map, tf_eager, tf_loop, tf_tape,
    )
}  # fmt: skip


def loop(name: str, seconds: float) -> None:
    """Run a program's steps, print the median time of its parts as JSON."""
    parts = PROGRAMS[name]()
    for _ in range(WARM_UP):
        for part in parts:
            part()
    spent: list[list[int]] = [[] for _part in parts]
    steps = 0
    begun = time.perf_counter_ns()
    while time.perf_counter_ns() - begun < seconds * 1e9:
        steps += 1
        with stepscope.step(steps):
            for number, part in enumerate(parts):
                before = time.perf_counter_ns()
                part()
                spent[number].append(time.perf_counter_ns() - before)
    names = [part.__name__ for part in parts]
    told = {name: median(times) / 1e6 for name, times in zip(names, spent, strict=True)}
    print(json.dumps(told), flush=True)


def run(name: str, seconds: float, folder: Path | None) -> dict[str, float]:
    """The median time of the parts, in ms, recorded into a folder if there is one."""
    words = ["-m", "bench.correction", "--run", name, str(seconds)]
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
        words = ["-m", "stepscope", "record", "-q", "-o", str(folder), *words]
    # One thread: on a busy machine threads that wait for each other time the machine.
    environment = os.environ | {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_NUM_INTRAOP_THREADS": "1",
        "TF_NUM_INTEROP_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise RuntimeError(done.stderr[-2000:])
    told: dict[str, float] = json.loads(lines[-1])
    return told


@dataclass(frozen=True)
class Shares:
    """The parts in an account of a program's recording.

    Attributes:
        recorded_ms, undisturbed_ms: Length of a step, from the overview.
        recorder_ms: Time of the recorder in the account.
        frac: Share of each part in the step without the recorder.
    """

    recorded_ms: float
    undisturbed_ms: float | None
    recorder_ms: float
    frac: dict[str, float]


def shares(folder: Path, parts: list[str], *, corrected: bool) -> Shares:
    """The parts by the functions that their owners lie in."""
    with (
        contextlib.nullcontext()
        if corrected
        else mock.patch.object(correction, "recorder_ps", none)
    ):
        session = stepscope.open(folder)
        steps, found = session.overview_page().steps, session.step_account()
    spent: dict[str, float] = dict.fromkeys(parts, 0.0)
    for owner in found.owners.records():
        function = owner.function.rsplit(".", 1)[-1]
        if function in spent and owner.kind != "recorder":
            spent[function] += owner.time_ms
    whole = found.step_time_ms - found.recorder_ms
    frac = {part: time / whole for part, time in spent.items()}
    return Shares(steps.time_ms.mean, steps.undisturbed_ms, found.recorder_ms, frac)


def none(_host: object, _found: object, _line: int, start_ps: I64, *_rest: object) -> I64:
    """Nothing is the recorder's."""
    return np.zeros(len(start_ps), dtype=np.int64)


HEAD: Final = [
    "program", "plain ms", "recorded", "undisturbed", "corrected", "part", "true", "as recorded",
    "corrected",
]  # fmt: skip


def rows_of(name: str) -> tuple[list[list[str]], list[tuple[float, float]]]:
    """The rows of a program, and of each part the errors before and after, in points."""
    folder = FOLDER / name
    true: dict[str, float] = json.loads((folder / "true.json").read_text("utf-8"))
    before, after = (shares(folder, list(true), corrected=way) for way in (False, True))
    whole = sum(true.values())
    rows: list[list[str]] = []
    errors: list[tuple[float, float]] = []
    for part, time_ms in true.items():
        share = time_ms / whole
        off_by, still_by = (100 * abs(one.frac[part] - share) for one in (before, after))
        errors.append((off_by, still_by))
        corrected_ms = after.recorded_ms - after.recorder_ms
        times_ms = whole, before.recorded_ms, before.undisturbed_ms or nan, corrected_ms
        first = [name, *(f"{time_ms:.3g}" for time_ms in times_ms)]
        numbers = f"{share:.0%}", f"{before.frac[part]:.0%}", f"{after.frac[part]:.0%}"
        rows.append([*(first if not rows else [""] * 5), part, *numbers])
    return rows, errors


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="bench.correction")
    parser.add_argument("--seconds", type=float, default=6.0, help="length of a loop")
    parser.add_argument("--run", nargs=2, metavar=("NAME", "SECONDS"))
    parser.add_argument("--again", action="store_true", help="sum the last recordings again")
    parser.add_argument("--only-record", action="store_true", help="sum nothing")
    parser.add_argument("name", nargs="*", choices=[*PROGRAMS, []])
    given = parser.parse_args()
    if given.run:
        loop(given.run[0], float(given.run[1]))
        return 0
    table, errors = [HEAD], []
    for name in given.name or PROGRAMS:
        say(name)
        if not given.again:
            true = run(name, given.seconds, None)
            own = run(name, given.seconds, FOLDER / name)
            (FOLDER / name / "true.json").write_text(json.dumps(true), "utf-8")
            (FOLDER / name / "own.json").write_text(json.dumps(own), "utf-8")
        if given.only_record:
            continue
        rows, of_parts = rows_of(name)
        table += rows
        errors += of_parts
    if not errors:
        return 0
    print("\n".join(aligned(table, 1)))
    before, after = (median(column) for column in zip(*errors, strict=True))
    print(f"median error of a share: {before:.1f} points as recorded, {after:.1f} corrected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
