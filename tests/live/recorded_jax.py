"""A JAX program that records itself: ``python -m tests.live.recorded_jax FOLDER``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import stepscope

FOLDER = Path(sys.argv[1])
# One chunk, and all the time there is: on a busy machine a few steps may take seconds.
WHOLE = stepscope.ProfilerOptions(chunk_seconds=None, stop_seconds=600.0)
STEPS = 12


@jax.jit
def train_step(weights: Any, batch: Any) -> Any:
    slope = jax.grad(lambda w: jnp.mean((batch @ w) ** 2))(weights)
    return weights - 0.01 * slope


def told(capture: stepscope.Capture | None) -> dict[str, Any]:
    assert capture is not None
    return {
        "path": capture.path,
        "events": capture.events,
        "counts": capture.counts,
        "warnings": [note.message for note in capture.warnings if note.severity != "info"],
    }


def first_use() -> dict[str, Any]:
    """The recording begins before JAX has chosen its devices."""
    with stepscope.Profile(FOLDER / "first_use", WHOLE) as profile:
        weights, batch = jnp.ones((64, 32)), jnp.ones((16, 64))
        for number in range(STEPS):
            with stepscope.step(number):
                weights = train_step(weights, batch).block_until_ready()
    return told(profile.capture)


def marked() -> dict[str, Any]:
    weights, batch = jnp.ones((64, 32)), jnp.ones((16, 64))
    weights = train_step(weights, batch).block_until_ready()
    with stepscope.Profile(FOLDER / "marked", WHOLE) as profile:
        for number in range(STEPS):
            with stepscope.Trace("train", step_num=number, _r=1, who="a,b#c=é"):
                weights = train_step(weights, batch).block_until_ready()
    return told(profile.capture)


def taken() -> dict[str, Any]:
    """JAX's profiler is held by the program itself."""
    weights, batch = jnp.ones((64, 32)), jnp.ones((16, 64))
    jax.profiler.start_trace(str(FOLDER / "theirs"))
    with stepscope.Profile(FOLDER / "taken", WHOLE) as profile:
        train_step(weights, batch).block_until_ready()
    jax.profiler.stop_trace()
    return told(profile.capture)


def main() -> None:
    facts = {program.__name__: program() for program in (first_use, marked, taken)}
    (FOLDER / "facts.json").write_text(json.dumps(facts), "utf-8")


if __name__ == "__main__":
    main()
