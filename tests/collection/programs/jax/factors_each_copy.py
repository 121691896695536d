import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the noise's covariance is broadcast to all sensors, and then factored for each",
    "cause": "the same computed for each copy",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["copies of the same"],
    "part": "develop",
}
SENSORS, TIMES = 24, 96


def covariance(times, log_scale):
    apart = times[:, None] - times[None, :]
    return jnp.exp(-((apart / jnp.exp(log_scale)) ** 2)) + 1e-2 * jnp.eye(TIMES)


def log_likelihood(params, times, signals, is_fixed):
    whole = covariance(times, params["log_scale"])
    left = signals - params["mean"][:, None]
    if is_fixed:
        factor = jnp.linalg.cholesky(whole)
        white = jax.scipy.linalg.solve_triangular(factor, left.T, lower=True).T
        return -0.5 * (white**2).sum() - SENSORS * jnp.log(jnp.diagonal(factor)).sum()
    each = jnp.broadcast_to(whole, (SENSORS, TIMES, TIMES))  # planted
    factors = jnp.linalg.cholesky(each)
    white = jax.vmap(lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True))(
        factors, left
    )
    sizes = jnp.log(jnp.diagonal(factors, axis1=1, axis2=2))
    return -0.5 * (white**2).sum() - sizes.sum()


def main(clock):
    clock.plan(4, 12)
    keys = jax.random.split(jax.random.PRNGKey(2), 2)
    times = jnp.linspace(0.0, 10.0, TIMES)
    signals = jax.random.normal(keys[0], (SENSORS, TIMES))
    params = {"log_scale": jnp.zeros(()), "mean": jax.random.normal(keys[1], (SENSORS,))}
    is_fixed = clock.fixed

    @jax.jit
    def fit_step(params, signals):
        def loss(params):
            return -log_likelihood(params, times, signals, is_fixed)

        value, grads = jax.value_and_grad(loss)(params)
        return jax.tree_util.tree_map(lambda p, g: p - 1e-4 * g, params, grads), value

    for step in clock.loop():
        with clock.mark(step):
            params, value = fit_step(params, signals)
            float(value)


if __name__ == "__main__":
    run(main)
