"""Brownian dynamics of charged colloids: blocks of five steps within one compiled call."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

COLLOIDS, BOX, STEPS = 400, 10.0, 5


def yukawa(x):
    offsets = x[:, None] - x[None]
    squared = jnp.sum((offsets - BOX * jnp.round(offsets / BOX)) ** 2, -1) + 100.0 * jnp.eye(COLLOIDS)
    r = jnp.sqrt(squared)
    return 0.5 * jnp.sum(jnp.exp(-2.0 * r) / r)


@partial(jax.jit, donate_argnums=0)
def diffuse(x, key):
    def one(x, k):
        drift = -jax.grad(yukawa)(x)
        return (x + 1e-3 * drift + 0.03 * jax.random.normal(k, x.shape)) % BOX, None

    return jax.lax.scan(one, x, jax.random.split(key, STEPS))[0]


def main(clock):
    clock.plan(4, 4)
    key = jax.random.PRNGKey(0)
    x = jax.random.uniform(key, (COLLOIDS, 3), maxval=BOX)
    for step in clock.loop(lambda: x):
        with clock.mark(step, "block"):
            x = diffuse(x, jax.random.fold_in(key, step))


if __name__ == "__main__":
    run(main)
