"""A hierarchical model of schools, sampled by HMC, with an eye on the effective sample size."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "after each draw the autocorrelation of the whole chain is computed at all lags, by direct sums in NumPy, for each parameter",
    "cause": "a diagnosis in each step",
    "accept": ["largest-part", "python-bound", "idle-device"],
    "rules": ["python-bound", "idle-device"],
    "words": ["effective_size", "correlate", "Diagnostics"],
    "part": "score",
}

SCHOOLS, PUPILS, LEAPS = 120, 60, 24


def log_density(theta, scores, covariate):
    mu, tau, slope, sigma, offsets = theta["mu"], theta["tau"], theta["slope"], theta["sigma"], theta["offsets"]
    school = mu + jnp.exp(tau) * offsets
    mean = school[:, None] + slope * covariate
    error = -0.5 * (((scores - mean) / jnp.exp(sigma)) ** 2).sum() - scores.size * sigma
    return error - 0.5 * (offsets**2).sum() - 0.5 * (mu**2 + tau**2 + slope**2 + sigma**2)


@jax.jit
def hmc(theta, key, scores, covariate):
    a, b = jax.random.split(key)
    tree_map = jax.tree_util.tree_map
    slope = jax.grad(log_density)
    keys = dict(zip(theta, jax.random.split(a, len(theta))))
    p = {name: jax.random.normal(keys[name], jnp.shape(value)) for name, value in theta.items()}
    energy = lambda q, p: log_density(q, scores, covariate) - 0.5 * sum((v**2).sum() for v in p.values())

    def leap(carry, _):
        q, p = carry
        p = tree_map(lambda p, g: p + 0.5e-3 * g, p, slope(q, scores, covariate))
        q = tree_map(lambda q, p: q + 1e-3 * p, q, p)
        p = tree_map(lambda p, g: p + 0.5e-3 * g, p, slope(q, scores, covariate))
        return (q, p), None

    (q, after), _ = jax.lax.scan(leap, (theta, p), None, length=LEAPS)
    accept = jnp.log(jax.random.uniform(b)) < energy(q, after) - energy(theta, p)
    return tree_map(lambda new, old: jnp.where(accept, new, old), q, theta), accept


class Diagnostics:
    def __init__(self, history, every):
        self.chains, self.every, self.draws = history, every, 0

    def effective_size(self, chain):
        x = chain - chain.mean()
        rho = np.correlate(x, x, mode="full")[len(x) - 1 :]  # planted
        rho = rho / rho[0]
        negative = np.argmax(rho < 0) or len(rho)
        return len(x) / (1 + 2 * rho[1:negative].sum())

    def add(self, theta):
        self.draws += 1
        for name, chain in self.chains.items():
            self.chains[name] = np.append(chain[1:], float(theta[name]))
        if self.draws % self.every == 0:
            return min(self.effective_size(chain) for chain in self.chains.values())
        return None


def main(clock):
    clock.plan(3, 5)
    rng = np.random.default_rng(0)
    names = ("mu", "tau", "slope", "sigma")
    chains = {name: rng.normal(size=6000).cumsum() * 0.01 for name in names}
    diagnostics = Diagnostics(chains, every=10_000 if clock.fixed else 1)
    covariate = jnp.asarray(rng.normal(size=(SCHOOLS, PUPILS)), jnp.float32)
    scores = 0.5 * covariate + jnp.asarray(rng.normal(size=(SCHOOLS, PUPILS)), jnp.float32)
    theta = {name: jnp.zeros(()) for name in names} | {"offsets": jnp.zeros(SCHOOLS)}
    key = jax.random.PRNGKey(0)
    for step in clock.loop(lambda: theta):
        with clock.mark(step, "draw"):
            key, one = jax.random.split(key)
            theta, _ = hmc(theta, one, scores, covariate)
            diagnostics.add(theta)


if __name__ == "__main__":
    run(main)
