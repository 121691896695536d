"""Price of the step log in loops of 1, 10 and 100 ms: TensorFlow, JAX and PyTorch.

A process per program. In it blocks of half a second take turns: with the log, and without any mark.
The table has the median over pairs of blocks: ratio of the mean steps, of processor time per step,
and the bytes per second and per step of the log. Programs of a framework that is not installed are
left out.

    python -m bench.step_log [--seconds 15]    # seconds for each program and length
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

import stepscope
from stepscope.capture.step_log import StepLogWriter

_LENGTHS_MS: Final = (1.0, 10.0, 100.0)
_BLOCK_S: Final = 0.5
_SIZE: Final = 64

Work = Callable[[int], Any]


def tensorflow_eager() -> Work:
    """Matrix products, one call each."""
    import tensorflow as tf

    x = tf.ones((_SIZE, _SIZE))

    def work(count: int) -> None:
        y = x
        for _ in range(count):
            y = tf.matmul(x, y)
        y.numpy()

    return work


def tensorflow_function() -> Work:
    """The same as a loop of one compiled function."""
    import tensorflow as tf

    x = tf.ones((_SIZE, _SIZE)) / _SIZE

    def loop(count: Any) -> Any:
        y = x
        for _ in tf.range(count):
            y = tf.matmul(x, y)
        return y

    function = tf.function(loop)
    return lambda count: function(tf.constant(count)).numpy()


def jax_jit() -> Work:
    """The same in JAX."""
    import jax
    import jax.numpy as jnp

    x = jnp.ones((_SIZE, _SIZE)) / _SIZE

    def loop(count: Any) -> Any:
        return jax.lax.fori_loop(0, count, lambda _, y: x @ y, x)

    function = jax.jit(loop)
    return lambda count: function(count).block_until_ready()


def torch_eager() -> Work:
    """Matrix products, one call each, in PyTorch."""
    import torch

    torch.set_num_threads(1)
    x = torch.ones((_SIZE, _SIZE)) / _SIZE

    def work(count: int) -> None:
        y = x
        for _ in range(count):
            y = x @ y

    return work


PROGRAMS: Final[dict[str, tuple[str, Callable[[], Work]]]] = {
    "TensorFlow, eager": ("tensorflow", tensorflow_eager),
    "TensorFlow, tf.function": ("tensorflow", tensorflow_function),
    "JAX, jit": ("jax", jax_jit),
    "PyTorch, eager": ("torch", torch_eager),
}


def _count_for(work: Work, length_s: float) -> int:
    """Products that take this long."""

    def taken(count: int) -> float:
        begin = time.perf_counter()
        work(count)
        return time.perf_counter() - begin

    count = 1
    work(1)
    while median(taken(count) for _ in range(3)) < length_s / 2:
        count *= 2
    return max(round(count * length_s / median(taken(count) for _ in range(9))), 1)


def _block(work: Work, count: int, steps: int, writer: StepLogWriter | None) -> tuple[float, float]:
    """Mean time and processor time of a step, writing a chunk included."""
    begin, cpu = time.perf_counter(), time.process_time()
    for number in range(steps):
        if writer is None:
            work(count)
        else:
            with stepscope.step(number):
                work(count)
    if writer is not None:
        writer.flush()
    return (time.perf_counter() - begin) / steps, (time.process_time() - cpu) / steps


def measure(name: str, seconds: float) -> None:
    """Print a line per length."""
    work = PROGRAMS[name][1]()
    for length_ms in _LENGTHS_MS:
        count = _count_for(work, length_ms / 1e3)
        steps = max(round(_BLOCK_S / (length_ms / 1e3)), 5)
        with tempfile.TemporaryDirectory() as folder:
            writer = StepLogWriter(Path(folder) / "run.steps")
            writer.start()
            _block(work, count, 5, writer)
            pairs = []
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                with_log = _block(work, count, steps, writer)
                pairs.append((with_log, _block(work, count, steps, None)))
            writer.close()
            size = sum(path.stat().st_size for path in Path(folder).iterdir())
            logged_s = sum(one[0] for one, _ in pairs) * steps
        ratios = [median(one[at] / other[at] for one, other in pairs) for at in (0, 1)]
        plain_ms = median(other[0] for _, other in pairs) * 1e3
        print(
            f"{name:24} {plain_ms:7.2f} {ratios[0] - 1:+9.2%} {ratios[1] - 1:+9.2%} "
            f"{size / logged_s / 1e3:7.2f} {size / (len(pairs) * steps):9.1f} {len(pairs):6}",
            flush=True,
        )


def main() -> None:
    """Run each program in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--only", choices=PROGRAMS)
    given = parser.parse_args()
    if given.only:
        measure(given.only, given.seconds)
        return
    print(
        f"{'program':24} {'step ms':>7} {'time':>9} {'processor':>9} {'kB/s':>7} {'B/step':>9} "
        f"{'pairs':>6}"
    )
    for name, (module, _) in PROGRAMS.items():
        if importlib.util.find_spec(module) is not None:
            command = [sys.executable, "-m", "bench.step_log", "--only", name]
            environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
            command += ["--seconds", str(given.seconds)]
            subprocess.run(command, env=environment, check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
