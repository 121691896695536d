import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "principal components of tall data through a full decomposition, in every step",
    "cause": "an algorithm that does more than it must",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["principal_components", "svd", "gesdd"],
    "family": "svd",
    "part": "develop",
}


def principal_components(x, count):
    _, _, v = jnp.linalg.svd(x - x.mean(0), full_matrices=False)  # planted
    return v[:count].T


def components_of_covariance(x, count):
    x = x - x.mean(0)
    _, vectors = jnp.linalg.eigh(x.T @ x)
    return vectors[:, ::-1][:, :count]


def main(clock):
    clock.plan(2, 6)
    x = jax.random.normal(jax.random.PRNGKey(0), (4096, 96))
    w = jnp.zeros((8, 3))
    find = components_of_covariance if clock.fixed else principal_components

    @jax.jit
    def update(w, x):
        features = x @ find(x, 8)
        return w - 0.01 * jax.grad(lambda w: jnp.mean((features @ w - 1) ** 2))(w)

    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w = update(w, x + 0.01 * step)
            w.block_until_ready()


if __name__ == "__main__":
    run(main)
