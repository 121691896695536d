"""Langevin sampling of a mixture: many chains at once, a compiled block of iterations per call."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "healthy",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}

CHAINS, DIM, MODES = 2048, 16, 8


def main(clock):
    clock.plan(5, 12)
    centers = jnp.asarray(np.random.default_rng(0).normal(size=(MODES, DIM)) * 2, jnp.float32)

    def energy(x):
        return -jax.nn.logsumexp(-0.5 * jnp.sum((x[None] - centers) ** 2, -1))

    gradient = jax.vmap(jax.grad(energy))

    @jax.jit
    def run_block(key, x):
        def body(x, k):
            return x - 0.05 * gradient(x) + jnp.sqrt(0.1) * jax.random.normal(k, x.shape), None

        key, sub = jax.random.split(key)
        x, _ = jax.lax.scan(body, x, jax.random.split(sub, 3))
        return key, x

    key = jax.random.PRNGKey(1)
    x = jax.random.normal(key, (CHAINS, DIM))
    means = []
    for _step in clock.loop(lambda: x):
        key, x = run_block(key, x)
        means.append(x.mean(0))
    print(np.asarray(jnp.stack(means))[-1, :3])


if __name__ == "__main__":
    run(main)
