import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the covariance is decomposed with NumPy on the host in every step",
    "cause": "linear algebra on the host",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["whiten", "eigh", "np.linalg"],
    "part": "develop",
}


def whiten(x):
    values, vectors = np.linalg.eigh(np.cov(x, rowvar=False))  # planted
    return (x @ (vectors / np.sqrt(values + 1e-5))).astype(np.float32)


@jax.jit
def update(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)


def main(clock):
    clock.plan(3, 6)
    x = np.random.default_rng(0).normal(size=(512, 192)).astype(np.float32)
    w = jnp.eye(192)
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w = update(w, x if clock.fixed else whiten(x))
            w.block_until_ready()


if __name__ == "__main__":
    run(main)
