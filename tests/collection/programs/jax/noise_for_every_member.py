"""Evolution strategies (Salimans et al. 2017) for a controller."""
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each generation draws a normal number for every weight of every member, where the paper cuts slices out of a table of noise",
    "cause": "random numbers",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["perturbations", "threefry", "threefry2x32", "random_normal", "random_bits", "erf_inv"],
    "part": "develop",
}


class ES(NamedTuple):
    members: int = 48
    obs: int = 24
    hidden: int = 128
    actions: int = 6
    states: int = 96
    sigma: float = 0.05
    lr: float = 0.02


def size_of(es):
    return es.obs * es.hidden + es.hidden * es.hidden + es.hidden * es.actions


def policy(flat, obs, es):
    a, b = es.obs * es.hidden, es.hidden * es.hidden
    w1 = flat[:a].reshape(es.obs, es.hidden)
    w2 = flat[a : a + b].reshape(es.hidden, es.hidden)
    w3 = flat[a + b :].reshape(es.hidden, es.actions)
    return jnp.tanh(jnp.tanh(jnp.tanh(obs @ w1) @ w2) @ w3)


def perturbations(key, table, es):
    n = size_of(es)
    if table is None:
        return jax.random.normal(key, (es.members // 2, n))  # planted
    starts = jax.random.randint(key, (es.members // 2,), 0, len(table) - n)
    return jax.vmap(lambda at: jax.lax.dynamic_slice(table, (at,), (n,)))(starts)


@partial(jax.jit, static_argnames="es")
def generation(theta, key, obs, wanted, table, es):
    eps = perturbations(key, table, es)
    eps = jnp.concatenate([eps, -eps])
    rewards = jax.vmap(lambda e: -jnp.mean((policy(theta + es.sigma * e, obs, es) - wanted) ** 2))(eps)
    ranks = jnp.argsort(jnp.argsort(rewards)) / (es.members - 1.0) - 0.5
    return theta + es.lr / (es.members * es.sigma) * ranks @ eps, rewards.mean()


def main(clock):
    clock.plan(4, 5)
    es = ES()
    rng = np.random.default_rng(0)
    table = jnp.asarray(rng.standard_normal(1_000_000), jnp.float32) if clock.fixed else None
    theta = jnp.asarray(0.1 * rng.standard_normal(size_of(es)), jnp.float32)
    obs = jnp.asarray(rng.standard_normal((es.states, es.obs)), jnp.float32)
    wanted = jnp.tanh(obs[:, : es.actions])
    key = jax.random.PRNGKey(0)
    reward = jnp.zeros(())
    for step in clock.loop(lambda: (theta, reward)):
        with clock.mark(step, "generation"):
            key, sub = jax.random.split(key)
            theta, reward = generation(theta, sub, obs, wanted, table, es)
            jax.block_until_ready(reward)


if __name__ == "__main__":
    run(main)
