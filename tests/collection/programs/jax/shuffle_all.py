import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the whole data set is shuffled again for every batch",
    "cause": "sampling on the host",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["draw_batch", "permutation"],
    "part": "develop",
}


def draw_batch(data, random, size):
    order = random.permutation(len(data))  # planted
    return data[order][:size]  # planted


@jax.jit
def update(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)


def main(clock):
    clock.plan(3, 6)
    random = np.random.default_rng(0)
    data = random.normal(size=(200_000, 32)).astype(np.float32)
    w = jnp.eye(32)
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            batch = data[:256] if clock.fixed else draw_batch(data, random, 256)
            w = update(w, batch)


if __name__ == "__main__":
    run(main)
