import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a batch is filled row by row with .at[i].set: every row copies all",
    "cause": "dispatch and copies",
    "accept": ["eager-execution", "python-bound", "tiny-ops", "host-copies"],
    "rules": ["eager-execution", "python-bound", "tiny-ops", "host-copies"],
    "words": ["fill_batch", "scatter"],
    "part": "develop",
}


def fill_batch(rows, length):
    batch = jnp.zeros((len(rows), length))
    for i, row in enumerate(rows):
        batch = batch.at[i, : len(row)].set(row)  # planted
    return batch


def fill_on_host(rows, length):
    batch = np.zeros((len(rows), length), np.float32)
    for i, row in enumerate(rows):
        batch[i, : len(row)] = row
    return jnp.asarray(batch)


@jax.jit
def update(w, x):
    return w - 0.01 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - 1) ** 2))(w)


def main(clock):
    clock.plan(2, 6)
    random = np.random.default_rng(0)
    w = jnp.zeros((512, 64))
    rows = [random.random(400 + 16 * (i % 4)).astype(np.float32) for i in range(64)]
    fill = fill_on_host if clock.fixed else fill_batch
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w = update(w, fill(rows, 512))


if __name__ == "__main__":
    run(main)
