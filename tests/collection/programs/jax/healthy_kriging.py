"""Kriging of rainfall: hyperparameters of a Gaussian process by its Cholesky factor (healthy)."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

STATIONS = 448


def kernel(p, x):
    scaled = x / jnp.exp(p["length"])
    squares = (scaled**2).sum(-1)
    distances = squares[:, None] + squares[None] - 2 * scaled @ scaled.T
    noise = jnp.exp(p["noise"]) + 1e-4
    return jnp.exp(p["scale"] - 0.5 * jnp.maximum(distances, 0)) + noise * jnp.eye(len(x))


def negative_likelihood(p, x, y):
    factor = jnp.linalg.cholesky(kernel(p, x))
    weights = cho_solve((factor, True), y)
    return 0.5 * y @ weights + jnp.log(jnp.diagonal(factor)).sum()


@partial(jax.jit, donate_argnums=(0, 1))
def adam_step(p, moments, count, x, y):
    value, g = jax.value_and_grad(negative_likelihood)(p, x, y)
    tree_map = jax.tree_util.tree_map
    m = tree_map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], g)
    v = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, moments[1], g)
    a, b = 1 - 0.9**count, 1 - 0.999**count
    p = tree_map(lambda p, m, v: p - 0.02 * (m / a) / (jnp.sqrt(v / b) + 1e-8), p, m, v)
    return p, (m, v), value


def main(clock):
    clock.plan(4, 6)
    a, b = jax.random.split(jax.random.PRNGKey(0))
    x = jax.random.uniform(a, (STATIONS, 3))
    y = jnp.sin(5 * x[:, 0]) + x[:, 1] + 0.1 * jax.random.normal(b, (STATIONS,))
    p = {"length": jnp.zeros(3), "scale": jnp.zeros(()), "noise": jnp.full((), -2.0)}
    zeros = jax.tree_util.tree_map(jnp.zeros_like, p)
    moments = zeros, jax.tree_util.tree_map(jnp.copy, zeros)
    values = []
    for step in clock.loop(lambda: p):
        with clock.mark(step):
            p, moments, value = adam_step(p, moments, step + 1.0, x, y)
            values.append(value)
    print(float(values[-1]))


if __name__ == "__main__":
    run(main)
