"""Hyperparameters of a Gaussian process with one length for each input, by gradient descent."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "systems with the triangular Cholesky factor are solved by jnp.linalg.solve, which factorises it again by LU",
    "cause": "a library call that does more than it must",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["lu", "getrf", "lapack_sgetrf_ffi", "lu_solve", "lu_pivots_to_permutation", "linalg.solve", "weights_of"],
    "part": "develop",
}

POINTS, INPUTS = 400, 6


def kernel(theta, x):
    z = x * jnp.exp(-theta["log_lengths"])
    squared = jnp.sum(z**2, -1)[:, None] + jnp.sum(z**2, -1)[None] - 2 * z @ z.T
    return jnp.exp(2 * theta["log_scale"] - 0.5 * jnp.maximum(squared, 0)) + jnp.exp(2 * theta["log_noise"]) * jnp.eye(len(x))


def weights_of(factor, y, triangular):
    if triangular:
        return jax.scipy.linalg.cho_solve((factor, True), y)
    return jnp.linalg.solve(factor.T, jnp.linalg.solve(factor, y))  # planted


def negative_log_likelihood(theta, x, y, triangular):
    factor = jnp.linalg.cholesky(kernel(theta, x))
    apart = y - theta["mean"]
    return 0.5 * apart @ weights_of(factor, apart, triangular) + jnp.log(jnp.diag(factor)).sum()


@partial(jax.jit, static_argnames="triangular", donate_argnums=0)
def update(theta, x, y, triangular):
    value, grads = jax.value_and_grad(negative_log_likelihood)(theta, x, y, triangular)
    return jax.tree_util.tree_map(lambda t, g: t - 1e-5 * g, theta, grads), value


def main(clock):
    clock.plan(5, 4)
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.standard_normal((POINTS, INPUTS)), jnp.float32)
    y = jnp.sin(x @ jnp.arange(INPUTS, dtype=jnp.float32)) + 0.1 * jnp.asarray(rng.standard_normal(POINTS), jnp.float32)
    theta = {"log_lengths": jnp.zeros(INPUTS), "log_scale": jnp.zeros(()), "log_noise": jnp.array(-1.0), "mean": jnp.zeros(())}
    for step in clock.loop(lambda: theta):
        with clock.mark(step):
            theta, value = update(theta, x, y, triangular=clock.fixed)


if __name__ == "__main__":
    run(main)
