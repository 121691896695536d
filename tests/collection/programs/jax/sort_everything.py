import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the median of all activations is taken by a full sort in every step",
    "cause": "one op dominates",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["sort", "robust_scale"],
    "family": "sort",
    "part": "develop",
}


def robust_scale(x):
    ordered = jnp.sort(x.ravel())  # planted
    return x / (ordered[ordered.size // 2] + 1e-3)


def train_step(w, x, is_fixed):
    def loss(w):
        y = jnp.abs(x @ w)
        y = y / (jnp.mean(jax.lax.stop_gradient(y)) + 1e-3) if is_fixed else robust_scale(jax.lax.stop_gradient(y)) + y
        return jnp.mean((y - 1.0) ** 2)

    return w - 0.01 * jax.grad(loss)(w)


def main(clock):
    clock.plan(3, 6)
    step_fn = jax.jit(train_step, static_argnums=2)
    key = jax.random.PRNGKey(0)
    w = jax.random.normal(key, (64, 128)) * 0.1
    x = jax.random.normal(key, (1500, 64))
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w = step_fn(w, x, clock.fixed)


if __name__ == "__main__":
    run(main)
