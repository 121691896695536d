"""Promoters from DNA: spectra of k-mers and a small net."""
import random
import sys
from collections import defaultdict
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the k-mers of each sequence are cut out as strings and counted in a dict, one after the other",
    "cause": "input, in Python",
    "accept": ["largest-part", "input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch"],
    "words": ["count_kmers", "spectrum", "spectra"],
    "part": "develop",
}

LENGTH, BATCH, K = 600, 32, 5
NAMES = ["".join(letters) for letters in product("ACGT", repeat=K)]
CODE = np.zeros(256, np.int64)
CODE[[ord(letter) for letter in "ACGT"]] = range(4)


def count_kmers(sequence):
    counts = defaultdict(int)
    for start in range(len(sequence) - K + 1):
        counts[sequence[start : start + K]] += 1  # planted
    return [counts[name] for name in NAMES]


def spectra(batch):
    return np.array([count_kmers(sequence) for sequence in batch], "float32")


def spectra_by_codes(batch):
    letters = CODE[np.frombuffer("".join(batch).encode(), np.uint8)].reshape(len(batch), -1)
    windows = sum(letters[:, i : LENGTH - K + 1 + i] * 4 ** (K - 1 - i) for i in range(K))
    windows += np.arange(len(batch))[:, None] * 4**K
    return np.bincount(windows.ravel(), minlength=len(batch) * 4**K).reshape(len(batch), -1).astype("float32")


def init(key, widths=(4**K, 1024, 256, 1)):
    keys = jax.random.split(key, len(widths))
    return [jax.random.normal(k, (i, o)) * i**-0.5 for k, i, o in zip(keys, widths, widths[1:])]


def logits(p, x):
    x = jnp.log1p(x)
    for w in p[:-1]:
        x = jax.nn.gelu(x @ w)
    return (x @ p[-1])[:, 0]


@jax.jit
def train_step(p, x, y):
    def loss(p):
        z = logits(p, x)
        return jnp.mean(jax.nn.softplus(z) - y * z)

    value, grads = jax.value_and_grad(loss)(p)
    return [w - 0.01 * g for w, g in zip(p, grads)], value


def main(clock):
    clock.plan(4, 6)
    rng = random.Random(0)
    genome = "".join(rng.choices("ACGT", k=100_000))
    features = spectra_by_codes if clock.fixed else spectra
    p, value = init(jax.random.PRNGKey(0)), jnp.zeros(())
    for step in clock.loop(lambda: value):
        with clock.mark(step):
            starts = [rng.randrange(len(genome) - LENGTH) for _ in range(BATCH)]
            x = features([genome[at : at + LENGTH] for at in starts])
            y = np.array([at % 2 for at in starts], "float32")
            p, value = train_step(p, x, y)


if __name__ == "__main__":
    run(main)
