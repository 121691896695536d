import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "np.unique finds the vocabulary of every batch again",
    "cause": "preprocessing in the loop",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["batch_vocabulary", "unique"],
    "part": "develop",
}


def batch_vocabulary(words):
    names, ids = np.unique(words, return_inverse=True)  # planted
    return ids.reshape(words.shape)


@jax.jit
def train_step(table, tokens):
    return table - 0.1 * jax.grad(lambda table: jnp.mean(jnp.tanh(table[tokens]) ** 2))(table)


def main(clock):
    clock.plan(3, 8)
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in rng.integers(0, 500, 64 * 64)]).reshape(64, 64)
    ready = batch_vocabulary(words)
    table = jnp.ones((512, 64))
    for step in clock.loop(lambda: table):
        with clock.mark(step):
            tokens = ready if clock.fixed else batch_vocabulary(words)
            table = train_step(table, tokens[:2])


if __name__ == "__main__":
    run(main)
