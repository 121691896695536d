import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "all sentences are padded to the longest of the data set",
    "cause": "padding",
    "accept": ["dominant-op", "padding"],
    "rules": ["dominant-op", "padding"],
    "words": ["pad_batch", "dot", "attend", "train_step"],
    "part": "develop",
}


def pad_batch(sentences, length):
    batch = np.zeros((len(sentences), length, 64), np.float32)  # planted
    for i, sentence in enumerate(sentences):
        batch[i, : len(sentence)] = sentence
    return batch


@jax.jit
def train_step(w, x):
    def loss(w):
        q = x @ w
        attend = jax.nn.softmax(q @ jnp.swapaxes(x, 1, 2) / 8.0)
        return jnp.mean((attend @ x - x) ** 2)

    return w - 0.1 * jax.grad(loss)(w)


def main(clock):
    clock.plan(3, 6)
    rng = np.random.default_rng(0)
    sentences = [rng.normal(size=(n, 64)).astype(np.float32) for n in rng.integers(20, 60, 16)]
    w = jnp.asarray(rng.normal(size=(64, 64)).astype(np.float32) * 0.1)
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w = train_step(w, pad_batch(sentences, 64 if clock.fixed else 320))  # planted


if __name__ == "__main__":
    run(main)
