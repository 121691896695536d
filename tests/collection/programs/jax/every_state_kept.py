"""Shallow water over a learnt sea floor: only the last state meets the gauge."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the scan stacks heights and flows of every time step, 31 MB a call, of which the caller takes the last",
    "cause": "results kept that nobody uses",
    "accept": ["largest-part", "dominant-op", "graph-loop", "device-copies"],
    "rules": ["dominant-op", "graph-loop", "device-copies"],
    "words": ["simulate", "integrate", "dynamic_update_slice", "dynamic-update-slice"],
    "part": "develop",
}

SIDE, TIMES, DT, GRAVITY = 256, 40, 0.05, 1.0


def slope(field, axis):
    return 0.5 * (jnp.roll(field, -1, axis) - jnp.roll(field, 1, axis))


def integrate(depth, state):
    height, u, v = state
    u = u - DT * GRAVITY * slope(height, 0)
    v = v - DT * GRAVITY * slope(height, 1)
    height = height - DT * (slope(depth * u, 0) + slope(depth * v, 1))
    return height, u, v


@partial(jax.jit, static_argnums=2)
def simulate(depth, state, keep_all):
    def body(state, _):
        state = integrate(depth, state)
        return state, state if keep_all else None  # planted

    last, every = jax.lax.scan(body, state, None, length=TIMES)
    return every if keep_all else last  # planted


@jax.jit
def misfit(height, gauge):
    return jnp.abs(height[::8, ::8] - gauge).mean()


def main(clock):
    clock.plan(3, 3)
    key = jax.random.PRNGKey(0)
    ys, xs = jnp.mgrid[:SIDE, :SIDE] / SIDE - 0.5
    height = jnp.exp(-40 * (xs**2 + ys**2))
    state = height, jnp.zeros_like(height), jnp.zeros_like(height)
    gauge, value = jnp.zeros((SIDE // 8, SIDE // 8)), jnp.zeros(())
    for step in clock.loop(lambda: value):
        with clock.mark(step, "trial"):
            key, own = jax.random.split(key)
            depth = 1 + 0.1 * jax.random.normal(own, (8, 8)).repeat(SIDE // 8, 0).repeat(SIDE // 8, 1)
            result = simulate(depth, state, not clock.fixed)
            value = misfit(result[0] if clock.fixed else result[0][-1], gauge)
            value.block_until_ready()


if __name__ == "__main__":
    run(main)
