"""Summaries by a small GRU, whose samples are turned into text for the log as they come."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "sampled tokens are turned into words by iterating over an array on the device, one element after the other",
    "cause": "element-wise access to arrays of the device",
    "accept": ["largest-part", "python-bound", "host-waits", "eager-execution", "host-copies", "launch-bound", "tiny-ops", "tiny-kernels"],
    "rules": ["python-bound", "host-waits", "eager-execution", "host-copies", "launch-bound", "tiny-ops", "tiny-kernels"],
    "words": ["detokenise", "__iter__", "__int__", "__index__", "_chunk_iter", "unstack"],
    "part": "develop",
}

VOCABULARY, WIDTH, LENGTH, BATCH, PAD = 800, 192, 24, 12, 0


class Vocabulary:
    def __init__(self, size):
        self.words = ["<pad>"] + [f"word{i}" for i in range(1, size)]

    def detokenise(self, tokens):
        return " ".join(self.words[int(t)] for t in tokens if t != PAD)  # planted


def init(key):
    a, b, c, d = jax.random.split(key, 4)
    return {
        "embed": jax.random.normal(a, (VOCABULARY, WIDTH)) * 0.1,
        "x": jax.random.normal(b, (WIDTH, 3 * WIDTH)) * WIDTH**-0.5,
        "h": jax.random.normal(c, (WIDTH, 3 * WIDTH)) * WIDTH**-0.5,
        "out": jax.random.normal(d, (WIDTH, VOCABULARY)) * WIDTH**-0.5,
    }


def gru(params, h, token):
    x = params["embed"][token] @ params["x"]
    zr, n = jnp.split(h @ params["h"], [2 * WIDTH], -1)
    z, r = jnp.split(jax.nn.sigmoid(x[:, : 2 * WIDTH] + zr), 2, -1)
    new = jnp.tanh(x[:, 2 * WIDTH :] + r * n)
    return (1 - z) * new + z * h


@jax.jit
def sample(params, key, state):
    def one(carry, key):
        h, token = carry
        h = gru(params, h, token)
        token = jax.random.categorical(key, h @ params["out"])
        return (h, token), token

    start = (state, jnp.ones(BATCH, jnp.int32))
    _, tokens = jax.lax.scan(one, start, jax.random.split(key, LENGTH))
    return tokens.T


def write_samples(file, vocabulary, tokens):
    for row in tokens:
        file.write(vocabulary.detokenise(row) + "\n")  # planted


def main(clock):
    clock.plan(3, 3)
    params = init(jax.random.PRNGKey(0))
    vocabulary = Vocabulary(VOCABULARY)
    key = jax.random.PRNGKey(1)
    state = jax.random.normal(key, (BATCH, WIDTH))
    with open(Path(clock.folder) / "samples.txt", "w") as file:
        for step in clock.loop():
            with clock.mark(step, "sample"):
                key, own = jax.random.split(key)
                tokens = sample(params, own, state)
                write_samples(file, vocabulary, jax.device_get(tokens) if clock.fixed else tokens)  # planted


if __name__ == "__main__":
    run(main)
