"""Programs whose recording has a price: one loop each, in a process of its own.

python -m bench.priced_programs NAME SECONDS [OWN]

Runs the loop for SECONDS after a warm-up and prints JSON as its last line: steps, the median and
mean step, processor time of the process per step, and the mean step in yardsticks. A yardstick is a
fixed piece of Python between two steps, 50 times a second: where other machines share the
processor, it becomes slower as the steps do. With OWN, a folder, the framework's own profiler
records the loop into it. The names of the programs are those of the functions below.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any, Final

Step = Callable[[], object]
WARM_UP: Final = 5
YARDSTICK_TURNS: Final = 10_000
YARDSTICK_SECONDS: Final = 0.02


def jax_scan() -> Step:
    """2,000 turns of a scan inside a compiled step."""
    import jax
    import jax.numpy as jnp

    weights = jnp.eye(8) * 0.9

    @jax.jit
    def step(x: Any) -> Any:
        return jax.lax.scan(lambda c, _: (jnp.tanh(c @ weights) + 0.1, None), x, None, 2000)[0]

    x = jnp.ones((8, 8))
    return lambda: step(x).block_until_ready()


def jax_nested_map() -> Step:
    """A map inside a map, 48 × 48."""
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(x: Any) -> Any:
        return jax.lax.map(lambda row: jax.lax.map(lambda v: jnp.sin(v) * jnp.cos(v), row), x)

    x = jnp.ones((48, 48, 16))
    return lambda: step(x).block_until_ready()


def jax_eager() -> Step:
    """300 tiny ops, one by one."""
    import jax.numpy as jnp

    x = jnp.ones((8, 8))

    def step() -> object:
        y = x
        for _ in range(150):
            y = jnp.tanh(y) * 0.9
        return y.block_until_ready()

    return step


def jax_matmul() -> Step:
    """A large matrix product."""
    import jax
    import jax.numpy as jnp

    x = jnp.ones((1500, 1500))
    step = jax.jit(lambda x: x @ x)
    return lambda: step(x).block_until_ready()


def jax_dense() -> Step:
    """A small dense network with its gradient."""
    import jax
    import jax.numpy as jnp

    weights = [jnp.ones((256, 256)) * 0.01 for _ in range(4)]
    batch = jnp.ones((256, 256))

    def loss(weights: list[Any]) -> Any:
        x = batch
        for one in weights:
            x = jax.nn.relu(x @ one)
        return (x**2).mean()

    step = jax.jit(jax.grad(loss))
    return lambda: step(weights)[0].block_until_ready()


def tf_while() -> Step:
    """500 turns of a while loop in a graph."""
    import tensorflow as tf

    weights = tf.eye(8) * 0.9

    @tf.function
    def step(x: Any) -> Any:
        for _ in tf.range(500):
            x = tf.tanh(x @ weights) + 0.1
        return x

    x = tf.ones((8, 8))
    return lambda: step(x).numpy()


def tf_map_fn() -> Step:
    """``map_fn`` over 300 rows."""
    import tensorflow as tf

    @tf.function
    def step(x: Any) -> Any:
        return tf.map_fn(lambda row: tf.sin(row) * tf.cos(row), x)

    x = tf.ones((300, 16))
    return lambda: step(x).numpy()


def tf_eager() -> Step:
    """300 tiny ops, one by one."""
    import tensorflow as tf

    x = tf.ones((8, 8))

    def step() -> object:
        y = x
        for _ in range(150):
            y = tf.tanh(y) * 0.9
        return y.numpy()

    return step


def tf_convolution() -> Step:
    """A healthy convolution."""
    import tensorflow as tf

    images, kernel = tf.ones((16, 64, 64, 16)), tf.ones((3, 3, 16, 32))
    step = tf.function(lambda: tf.reduce_sum(tf.nn.conv2d(images, kernel, 1, "SAME")))
    return lambda: step().numpy()


def tf_data() -> Step:
    """A generator of Python feeds a small step through tf.data."""
    import numpy as np
    import tensorflow as tf

    def rows() -> Any:
        while True:
            yield np.ones(64, "float32")

    data = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((64,), tf.float32))
    batches = iter(data.batch(64).prefetch(2))
    step = tf.function(lambda batch: tf.reduce_sum(tf.matmul(batch, batch, transpose_b=True)))
    return lambda: step(next(batches)).numpy()


def keras_dense() -> Step:
    """A batch of a compiled Keras model."""
    return _keras(run_eagerly=False)


def keras_eager() -> Step:
    """The same, run eagerly, with a loop of Python in the loss."""
    return _keras(run_eagerly=True)


def _keras(*, run_eagerly: bool) -> Step:
    import keras
    import numpy as np

    def loss(wanted: Any, got: Any) -> Any:
        total = keras.ops.sum(got) * 0.0
        for column in range(30 if run_eagerly else 1):
            total += keras.ops.mean(keras.ops.square(got[:, column % 10] - wanted))
        return total

    layers = [keras.layers.Dense(128, "relu"), keras.layers.Dense(10)]
    model = keras.Sequential([keras.Input((64,)), *layers])
    model.compile("sgd", loss, run_eagerly=run_eagerly)
    x, y = np.ones((32, 64), "float32"), np.zeros(32, "float32")
    return lambda: model.train_on_batch(x, y)


def torch_eager() -> Step:
    """1,500 tiny ops, one by one."""
    import torch

    torch.set_num_threads(1)
    x = torch.ones(8, 8)

    def step() -> object:
        y = x
        for _ in range(500):
            y = torch.tanh(y) * 0.9 + 0.1
        return y

    return step


def torch_training() -> Step:
    """A small convolutional network with an optimizer."""
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(12544, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images, labels = torch.randn(32, 1, 30, 30), torch.zeros(32, dtype=torch.long)

    def step() -> None:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def torch_deep() -> Step:
    """200 tiny layers, trained: many small ops, forward and backward."""
    import torch

    torch.set_num_threads(1)
    layers = [layer for _ in range(100) for layer in (torch.nn.Linear(16, 16), torch.nn.Tanh())]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    batch = torch.randn(8, 16)

    def step() -> None:
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()

    return step


def torch_matmul() -> Step:
    """A large matrix product."""
    import torch

    x = torch.randn(1500, 1500)
    return lambda: x @ x


def torch_loader() -> Step:
    """Batches of a data loader with two processes."""
    import torch

    class Rows(torch.utils.data.IterableDataset[Any]):  # type: ignore[misc]
        def __iter__(self) -> Any:
            while True:
                yield torch.ones(256)

    batches = iter(torch.utils.data.DataLoader(Rows(), batch_size=64, num_workers=2))
    layer = torch.nn.Linear(256, 256)
    return lambda: layer(next(batches)).sum().item()


def torch_threads() -> Step:
    """Two threads that run tiny ops."""
    from concurrent.futures import ThreadPoolExecutor

    import torch

    torch.set_num_threads(1)
    pool, x = ThreadPoolExecutor(2), torch.ones(8, 8)

    def work(_: int) -> float:
        y = x
        for _ in range(200):
            y = torch.tanh(y) * 0.9
        return float(y[0, 0])

    return lambda: list(pool.map(work, range(2)))


def python_calls() -> Step:
    """60,000 calls of Python's, without a framework."""

    def leaf(x: int) -> int:
        return x + 1

    def step() -> int:
        x = 0
        for _ in range(60_000):
            x = leaf(x)
        return x

    return step


def subprocesses() -> Step:
    """A program that starts a process in each step."""
    import subprocess

    return lambda: subprocess.run([sys.executable, "-S", "-c", ""], check=True)


PROGRAMS: Final[dict[str, Callable[[], Step]]] = {
    made.__name__: made
    for made in (
        jax_scan, jax_nested_map, jax_eager, jax_matmul, jax_dense,
        tf_while, tf_map_fn, tf_eager, tf_convolution, tf_data, keras_dense, keras_eager,
        torch_eager, torch_training, torch_deep, torch_matmul, torch_loader, torch_threads,
        python_calls, subprocesses,
    )
}  # fmt: skip


def own_profiler(name: str, folder: Path) -> AbstractContextManager[Any]:
    """The framework's own profiler at its defaults, which writes into the folder."""
    framework = name.partition("_")[0]
    if framework == "jax":
        import jax

        return jax.profiler.trace(folder)  # type: ignore[no-any-return]
    if framework in ("tf", "keras"):
        import tensorflow as tf

        return tf.profiler.experimental.Profile(str(folder))  # type: ignore[no-any-return]
    if framework == "torch":
        import torch

        handler = torch.profiler.tensorboard_trace_handler(str(folder))
        return torch.profiler.profile(on_trace_ready=handler)  # type: ignore[no-any-return]
    return nullcontext()


def main() -> None:
    """Run what the arguments name."""
    name, seconds = sys.argv[1], float(sys.argv[2])
    step = PROGRAMS[name]()
    for _ in range(WARM_UP):
        step()
    own = own_profiler(name, Path(sys.argv[3])) if len(sys.argv) > 3 else nullcontext()
    lengths: list[float] = []
    yards: list[tuple[int, float]] = []
    with own:
        began, cpu = time.perf_counter(), time.process_time()
        measured = began
        while time.perf_counter() - began < seconds:
            if time.perf_counter() - measured > YARDSTICK_SECONDS:
                yards.append((len(lengths), yardstick()))
                measured = time.perf_counter()
            at = time.perf_counter()
            step()
            lengths.append(time.perf_counter() - at)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    wall -= sum(yard for _step, yard in yards)
    answer = {
        "steps": len(lengths),
        "median_ms": median(lengths) * 1e3,
        "mean_ms": wall / len(lengths) * 1e3,
        "yardsticks": in_yardsticks(lengths, yards),
        "cpu_ms": cpu / len(lengths) * 1e3,
        "ended": time.time(),
    }
    print(json.dumps(answer), flush=True)


def yardstick() -> float:
    """Seconds that a fixed piece of Python takes now."""
    at = time.perf_counter()
    for _ in range(YARDSTICK_TURNS):
        pass
    return time.perf_counter() - at


def in_yardsticks(lengths: list[float], yards: list[tuple[int, float]]) -> float:
    """The mean step in yardsticks: each step in the median of those around it.

    Args:
        lengths: Of the steps, in seconds.
        yards: The step that each was measured before, and its seconds.
    """
    total = 0.0
    for place, (first, _yard) in enumerate(yards):
        until = yards[place + 1][0] if place + 1 < len(yards) else len(lengths)
        around = [yard for _step, yard in yards[max(place - 10, 0) : place + 11]]
        total += sum(lengths[first:until]) / median(around)
    counted = len(lengths) - yards[0][0]
    return total / counted


if __name__ == "__main__":
    main()
