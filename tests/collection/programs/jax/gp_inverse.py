import sys
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the likelihood of a Gaussian process inverts the kernel matrix and takes its determinant apart, where one Cholesky gives both",
    "cause": "a costly way to compute the same",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["marginal_likelihood", "getrf", "linalg.inv", "slogdet", "triangular_solve", "trsm", "lu_"],
    "part": "develop",
}


@dataclass
class Hyperparameters:
    lengthscale: float = 0.7
    variance: float = 1.0
    noise: float = 0.1

    def unconstrained(self):
        return {name: jnp.log(jnp.asarray(value)) for name, value in vars(self).items()}


def matern32(params, x):
    scaled = x / jnp.exp(params["lengthscale"])
    squared = jnp.sum(scaled**2, 1)
    distance = squared[:, None] + squared[None] - 2 * scaled @ scaled.T
    r = jnp.sqrt(3 * jnp.maximum(distance, 1e-10))
    return jnp.exp(params["variance"]) * (1 + r) * jnp.exp(-r)


def covariance(params, x):
    return matern32(params, x) + (jnp.exp(params["noise"]) + 1e-4) * jnp.eye(len(x))


def marginal_likelihood(params, x, y):
    k = covariance(params, x)
    fit = y @ jnp.linalg.inv(k) @ y  # planted
    return 0.5 * (fit + jnp.linalg.slogdet(k)[1]) / len(y)  # planted


def likelihood_by_cholesky(params, x, y):
    factor = jnp.linalg.cholesky(covariance(params, x))
    alpha = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
    return (0.5 * alpha @ alpha + jnp.log(jnp.diag(factor)).sum()) / len(y)


def make_fit(objective, lr=0.05):
    @jax.jit
    def fit_step(params, x, y):
        value, grads = jax.value_and_grad(objective)(params, x, y)
        return {name: params[name] - lr * grads[name] for name in params}, value

    return fit_step


def main(clock):
    clock.plan(2, 3)
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.uniform(-3, 3, (640, 4)), jnp.float32)
    y = jnp.sin(x).sum(1) + 0.1 * jnp.asarray(rng.normal(size=640), jnp.float32)
    params = Hyperparameters().unconstrained()
    fit_step = make_fit(likelihood_by_cholesky if clock.fixed else marginal_likelihood)
    trace = []
    for step in clock.loop(lambda: params):
        with clock.mark(step, "fit"):
            params, value = fit_step(params, x, y)
            trace.append(value.block_until_ready())


if __name__ == "__main__":
    run(main)
