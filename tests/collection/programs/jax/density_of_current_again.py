"""Metropolis sampling of a Bayesian logistic regression, many chains at once."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each proposal evaluates the posterior of the present state as well, which is known since it was accepted",
    "cause": "work done again",
    "accept": ["largest-part", "graph-loop", "dominant-op"],
    "rules": ["graph-loop", "dominant-op"],
    "words": ["metropolis", "log_posterior"],
    "part": "develop",
}

ROWS, FIELDS, CHAINS, MOVES = 5000, 32, 64, 6


def log_posterior(beta, x, y):
    margins = beta @ x.T * y
    return -jax.nn.softplus(-margins).sum(-1) - 0.5 * (beta**2).sum(-1)


def metropolis(x, y, carry, key):
    beta, _ = carry
    a, b = jax.random.split(key)
    proposal = beta + 0.03 * jax.random.normal(a, beta.shape)
    ahead = log_posterior(proposal, x, y)
    before = log_posterior(beta, x, y)  # planted
    accepted = jnp.log(jax.random.uniform(b, (CHAINS,))) < ahead - before
    return (jnp.where(accepted[:, None], proposal, beta), before), accepted.mean()


def metropolis_kept(x, y, carry, key):
    beta, before = carry
    a, b = jax.random.split(key)
    proposal = beta + 0.03 * jax.random.normal(a, beta.shape)
    ahead = log_posterior(proposal, x, y)
    accepted = jnp.log(jax.random.uniform(b, (CHAINS,))) < ahead - before
    return (jnp.where(accepted[:, None], proposal, beta), jnp.where(accepted, ahead, before)), accepted.mean()


@partial(jax.jit, static_argnums=4)
def sweep(carry, key, x, y, keep):
    move = partial(metropolis_kept if keep else metropolis, x, y)
    return jax.lax.scan(move, carry, jax.random.split(key, MOVES))


def main(clock):
    clock.plan(3, 3)
    keys = jax.random.split(jax.random.PRNGKey(0), 40)
    x = jax.random.normal(keys[0], (ROWS, FIELDS))
    y = jnp.sign(x @ jax.random.normal(keys[1], (FIELDS,)) + 0.5 * jax.random.normal(keys[2], (ROWS,)))
    beta = jnp.zeros((CHAINS, FIELDS))
    carry = beta, log_posterior(beta, x, y)
    total = jnp.zeros(FIELDS)
    for step in clock.loop(lambda: carry):
        with clock.mark(step, "sweep"):
            carry, accepted = sweep(carry, keys[step % 40], x, y, clock.fixed)
            total += carry[0].mean(0)
            accepted.block_until_ready()


if __name__ == "__main__":
    run(main)
