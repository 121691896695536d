"""JAX programs with one planted fault each, recorded one after the other.

Run as ``python -m tests.labelled.jax_programs FOLDER [NAME …]``: writes
``FOLDER/<name>.xplane.pb``. In a process of its own: JAX stays out of the tests' process.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Program → the rule that must come first; None: healthy.
EXPECTED: dict[str, str | None] = {
    "jax_recompiling": "recompilation",
    "jax_op_by_op": "eager-execution",
    "jax_python_work": "python-bound",
    "jax_debug_print": "print-every-step",
    "jax_healthy": None,
}
_STEPS = 10
# A step this many times the median was not slowed by the program.
_STALL = 2.0
_ATTEMPTS = 4


def _train(jax: Any) -> Callable[[Any, Any], Any]:
    import jax.numpy as jnp

    def loss(weights: Any, x: Any) -> Any:
        for weight in weights:
            x = jnp.tanh(x @ weight)
        return jnp.mean(x**2)

    def step(weights: Any, x: Any) -> Any:
        slopes = jax.grad(loss)(weights, x)
        return [weight - 1e-3 * slope for weight, slope in zip(weights, slopes, strict=True)]

    return step


def _weights(jax: Any, size: int = 512) -> Any:
    key = jax.random.PRNGKey(0)
    return [jax.random.normal(key, (size, size)) * 0.05 for _ in range(4)]


def jax_recompiling(jax: Any) -> Callable[[int], Any]:
    """Batches of a new size every time."""
    step, weights = jax.jit(_train(jax)), _weights(jax)
    return lambda number: step(weights, jax.numpy.ones((300 + number, 512)))


def jax_op_by_op(jax: Any) -> Callable[[int], Any]:
    """The update without jit."""
    step, weights = _train(jax), _weights(jax, 64)
    x = jax.numpy.ones((32, 64))
    return lambda number: step(weights, x)


def augment_in_python(count: int) -> float:
    """Work for the interpreter."""
    total = 0.0
    for at in range(count):
        total += (at % 7) * 0.5
    return total


def jax_python_work(jax: Any) -> Callable[[int], Any]:
    """A Python loop over samples in each step."""
    step, weights = jax.jit(_train(jax)), _weights(jax)

    def run(number: int) -> Any:
        scale = augment_in_python(400_000)
        return step(weights, jax.numpy.ones((256, 512)) * scale)

    return run


def jax_debug_print(jax: Any) -> Callable[[int], Any]:
    """Values are printed from inside of the compiled step."""
    inner, weights = _train(jax), _weights(jax, 128)

    @jax.jit
    def step(weights: Any, x: Any) -> Any:
        for row in range(40):
            jax.debug.callback(lambda value: str(value), x[row, :64])
        return inner(weights, x)

    x = jax.numpy.ones((64, 128))
    return lambda number: step(weights, x)


def jax_healthy(jax: Any) -> Callable[[int], Any]:
    """A compiled step."""
    step, weights = jax.jit(_train(jax)), _weights(jax)
    x = jax.numpy.ones((512, 512))
    return lambda number: step(weights, x)


PROGRAMS: dict[str, Callable[[Any], Callable[[int], Any]]] = {
    name: globals()[name] for name in EXPECTED
}


def record(jax: Any, name: str, folder: Path) -> None:
    """Record the steps of a program, marked; again where the machine stalled meanwhile.

    A stall is a fault of its own, which nobody planted. Numbers of steps go on, so that what is
    new in every step stays new.
    """
    step = PROGRAMS[name](jax)
    for number in range(2):
        jax.block_until_ready(step(number))
    for attempt in range(1, _ATTEMPTS + 1):
        times = []
        log = folder / "log" / f"{name}-{attempt}"
        shutil.rmtree(log, ignore_errors=True)  # of an earlier recording of this program
        with jax.profiler.trace(str(log)):
            for number in range(attempt * _STEPS, (attempt + 1) * _STEPS):
                begin = time.perf_counter()
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    jax.block_until_ready(step(number))
                times.append(time.perf_counter() - begin)
            jax.effects_barrier()
        if max(times) < _STALL * sorted(times)[len(times) // 2]:
            break
    (written,) = log.rglob("*.xplane.pb")
    written.rename(folder / f"{name}.xplane.pb")


def main() -> None:
    """Record every program, or those named."""
    import jax

    folder = Path(sys.argv[1])
    for name in sys.argv[2:] or PROGRAMS:
        begin = time.perf_counter()
        record(jax, name, folder)
        print(f"{name}: {time.perf_counter() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
