"""Bayesian optimisation: expected improvement over random candidates, by a Gaussian process."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jax.scipy.stats import norm

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the posterior's covariance between all candidates is computed, of which only the diagonal is used",
    "cause": "results computed and thrown away",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["predict", "covariance"],
    "part": "develop",
}

DIM, SEEN, CANDIDATES = 8, 240, 1400


def matern(a, b, scale):
    squared = ((a / scale) ** 2).sum(-1)[:, None] + ((b / scale) ** 2).sum(-1) - 2 * (a / scale) @ (b / scale).T
    r = jnp.sqrt(5 * jnp.maximum(squared, 1e-12))
    return (1 + r + r**2 / 3) * jnp.exp(-r)


def condition(x, y, scale, noise=1e-3):
    factor = jnp.linalg.cholesky(matern(x, x, scale) + noise * jnp.eye(len(x)))
    return factor, cho_solve((factor, True), y)


def predict(x, factor, weights, candidates, scale):
    cross = matern(x, candidates, scale)
    half = solve_triangular(factor, cross, lower=True)
    covariance = matern(candidates, candidates, scale) - half.T @ half  # planted
    return cross.T @ weights, jnp.diag(covariance)


def predict_marginals(x, factor, weights, candidates, scale):
    cross = matern(x, candidates, scale)
    half = solve_triangular(factor, cross, lower=True)
    return cross.T @ weights, 1.0 - (half**2).sum(0)


def expected_improvement(mean, variance, best):
    deviation = jnp.sqrt(jnp.maximum(variance, 1e-9))
    z = (mean - best) / deviation
    return deviation * (z * norm.cdf(z) + norm.pdf(z))


@partial(jax.jit, static_argnames="marginals")
def suggest(key, x, y, scale, marginals):
    candidates = jax.random.uniform(key, (CANDIDATES, DIM))
    factor, weights = condition(x, y, scale)
    posterior = predict_marginals if marginals else predict
    mean, variance = posterior(x, factor, weights, candidates, scale)
    return candidates[jnp.argmax(expected_improvement(mean, variance, y.max()))]


@jax.jit
def objective(x):
    return -jnp.sum((x - 0.3) ** 2) + 0.1 * jnp.cos(12 * x).sum()


def main(clock):
    clock.plan(3, 5)
    keys = jax.random.split(jax.random.PRNGKey(0), 2)
    x = jax.random.uniform(keys[0], (SEEN, DIM))
    y = jax.vmap(objective)(x)
    scale = jnp.full(DIM, 0.6)
    for step in clock.loop(lambda: y):
        with clock.mark(step, "suggest"):
            best = suggest(jax.random.fold_in(keys[1], step), x, y, scale, clock.fixed)
            # The oldest observation makes room: the shapes stay as they are.
            x, y = jnp.roll(x, -1, 0).at[-1].set(best), jnp.roll(y, -1).at[-1].set(objective(best))


if __name__ == "__main__":
    run(main)
