import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the batch goes through lax.map sample by sample instead of through vmap",
    "cause": "a loop inside of the graph",
    "accept": ["dominant-op", "graph-loop"],
    "rules": ["dominant-op", "graph-loop"],
    "words": ["while", "one_by_one", "scan"],
    "part": "develop",
}


def one_sample(w, row):
    for _ in range(3):
        row = jnp.tanh(w @ row)
    return row


def one_by_one(w, x):
    return jax.lax.map(lambda row: one_sample(w, row), x)  # planted


def all_at_once(w, x):
    return jax.vmap(lambda row: one_sample(w, row))(x)


def update(w, x, is_fixed):
    forward = all_at_once if is_fixed else one_by_one
    return w - 0.1 * jax.grad(lambda w: jnp.mean((forward(w, x) - x) ** 2))(w)


def main(clock):
    clock.plan(2, 4)
    step_fn = jax.jit(update, static_argnums=2)
    key = jax.random.PRNGKey(0)
    w = jax.random.normal(key, (128, 128)) * 0.1
    x = jax.random.normal(key, (64, 128))
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w = step_fn(w, x, clock.fixed)
            w.block_until_ready()


if __name__ == "__main__":
    run(main)
