"""Learns the length scales of a Gaussian process by its exact marginal likelihood."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

GPU = jax.default_backend() == "gpu"
POINTS, INPUTS = (3072, 8) if GPU else (192, 4)


def kernel(theta, x):
    scaled = x * jnp.exp(-theta["scale"])
    squares = jnp.sum(scaled**2, 1)
    apart = squares[:, None] + squares[None] - 2 * jnp.matmul(scaled, scaled.T, precision="highest")
    smooth = jnp.exp(2 * theta["height"] - 0.5 * jnp.maximum(apart, 0))
    return smooth + jnp.exp(2 * theta["noise"]) * jnp.eye(x.shape[0])


def negative_log_likelihood(theta, x, y):
    root = jnp.linalg.cholesky(kernel(theta, x))
    whitened = solve_triangular(root, y, lower=True)
    return 0.5 * whitened @ whitened + jnp.log(jnp.diagonal(root)).sum()


@jax.jit
def learn(theta, m, v, x, y):
    value, g = jax.value_and_grad(negative_log_likelihood)(theta, x, y)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
    return jax.tree.map(lambda t, m, v: t - 0.02 * m / (jnp.sqrt(v) + 1e-8), theta, m, v), m, v, value


def main(clock):
    clock.plan(3, 4)
    a, b = jax.random.split(jax.random.PRNGKey(0))
    x = jax.random.normal(a, (POINTS, INPUTS))
    y = jnp.sin(x[:, 0]) + 0.3 * x[:, 1] + 0.2 * jax.random.normal(b, (POINTS,))
    theta = {"scale": jnp.zeros(INPUTS), "height": jnp.zeros(()), "noise": jnp.full((), -1.0)}
    m = jax.tree.map(jnp.zeros_like, theta)
    v = jax.tree.map(jnp.zeros_like, theta)
    for step in clock.loop(lambda: theta):
        with clock.mark(step, "learn"):
            theta, m, v, value = learn(theta, m, v, x, y)


if __name__ == "__main__":
    run(main)
