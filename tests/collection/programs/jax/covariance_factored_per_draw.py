"""A surrogate for basket options: prices of paths drawn with NumPy, a net trained on them."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "NumPy's multivariate_normal decomposes the same covariance of 280 assets by an SVD for each batch",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "python-bound", "input-bound", "idle-device"],
    "rules": ["python-bound", "input-bound", "idle-device"],
    "words": ["multivariate_normal", "returns", "Market", "svd"],
    "part": "develop",
}

ASSETS, PATHS, HIDDEN = 280, 256, 256


class Market:
    def __init__(self, rng, factor_once):
        loadings = rng.standard_normal((ASSETS, 12)) * 0.1
        self.covariance = loadings @ loadings.T + 0.02 * np.eye(ASSETS)
        self.drift = -0.5 * np.diag(self.covariance)
        self.rng = rng
        self.root = np.linalg.cholesky(self.covariance) if factor_once else None

    def returns(self, paths):
        if self.root is None:
            return self.rng.multivariate_normal(self.drift, self.covariance, size=paths)  # planted
        return self.drift + self.rng.standard_normal((paths, ASSETS)) @ self.root.T

    def sample(self, paths):
        spot = self.rng.uniform(0.8, 1.2, (paths, ASSETS))
        strike = self.rng.uniform(0.9, 1.1, (paths, 1))
        payoff = np.maximum((spot * np.exp(self.returns(paths))).mean(1, keepdims=True) - strike, 0)
        return np.concatenate([spot, strike], 1).astype(np.float32), payoff.astype(np.float32)


def net(params, x):
    for w, b in params[:-1]:
        x = jax.nn.softplus(x @ w + b)
    w, b = params[-1]
    return x @ w + b


@jax.jit
def sgd(params, x, y, rate):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((net(p, x) - y) ** 2))(params)
    return [(w - rate * dw, b - rate * db) for (w, b), (dw, db) in zip(params, grads)], loss


def main(clock):
    clock.plan(4, 5)
    rng = np.random.default_rng(11)
    market = Market(rng, factor_once=clock.fixed)
    sizes = [ASSETS + 1, HIDDEN, HIDDEN, HIDDEN, 1]
    params = [(jnp.asarray(rng.standard_normal((a, b)) * a**-0.5, jnp.float32), jnp.zeros(b)) for a, b in zip(sizes, sizes[1:])]
    loss = None
    for step in clock.loop(lambda: params):
        with clock.mark(step, "train"):
            x, y = market.sample(PATHS)
            params, loss = sgd(params, x, y, 1e-3 / (1 + step))


if __name__ == "__main__":
    run(main)
