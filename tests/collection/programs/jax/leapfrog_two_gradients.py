"""Hamiltonian Monte Carlo for a Bayesian neural network."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each leapfrog step makes two half kicks with a gradient of its own, though the last of one step is the first of the next",
    "cause": "work done again",
    "accept": ["largest-part", "graph-loop"],
    "rules": ["graph-loop"],
    "words": ["leapfrog", "leap"],
    "part": "develop",
}

ROWS, FEATURES, HIDDEN, LEAPS = 768, 24, 128, 5


def net(params, x):
    h = jnp.tanh(x @ params["w1"] + params["b1"])
    h = jnp.tanh(h @ params["w2"] + params["b2"])
    return (h @ params["w3"])[:, 0]


def make_potential(unravel):
    def potential(theta, x, y):
        residual = net(unravel(theta), x) - y
        return 0.5 * jnp.sum(residual**2) / 0.1 + 0.5 * jnp.sum(theta**2)

    return potential


def leapfrog(slope, q, p, epsilon):
    def leap(_, state):
        q, p = state
        p = p - 0.5 * epsilon * slope(q)  # planted
        q = q + epsilon * p
        p = p - 0.5 * epsilon * slope(q)  # planted
        return q, p

    return jax.lax.fori_loop(0, LEAPS, leap, (q, p))  # planted


def leapfrog_whole_kicks(slope, q, p, epsilon):
    def leap(_, state):
        q, p = state
        q = q + epsilon * p
        return q, p - epsilon * slope(q)

    q, p = jax.lax.fori_loop(0, LEAPS - 1, leap, (q, p - 0.5 * epsilon * slope(q)))
    q = q + epsilon * p
    return q, p - 0.5 * epsilon * slope(q)


def make_kernel(potential, integrate, epsilon=2e-4):
    @jax.jit
    def transition(key, q, x, y):
        kick, luck = jax.random.split(key)
        p = jax.random.normal(kick, q.shape)
        before = potential(q, x, y) + 0.5 * p @ p
        new, p = integrate(lambda q: jax.grad(potential)(q, x, y), q, p, epsilon)
        change = before - potential(new, x, y) - 0.5 * p @ p
        accepted = jnp.log(jax.random.uniform(luck)) < change
        return jnp.where(accepted, new, q), jnp.minimum(1.0, jnp.exp(change))

    return transition


def main(clock):
    clock.plan(2, 3)
    keys = jax.random.split(jax.random.PRNGKey(0), 6)
    params = {
        "w1": jax.random.normal(keys[0], (FEATURES, HIDDEN)) * FEATURES**-0.5,
        "b1": jnp.zeros(HIDDEN),
        "w2": jax.random.normal(keys[1], (HIDDEN, HIDDEN)) * HIDDEN**-0.5,
        "b2": jnp.zeros(HIDDEN),
        "w3": jax.random.normal(keys[2], (HIDDEN, 1)) * HIDDEN**-0.5,
    }
    x = jax.random.normal(keys[3], (ROWS, FEATURES))
    y = jnp.sin(x[:, 0]) + 0.3 * jax.random.normal(keys[4], (ROWS,))
    q, unravel = ravel_pytree(params)
    potential = make_potential(unravel)
    transition = make_kernel(potential, leapfrog_whole_kicks if clock.fixed else leapfrog)
    for step in clock.loop(lambda: q):
        with clock.mark(step, "transition"):
            q, rate = transition(jax.random.fold_in(keys[5], step), q, x, y)


if __name__ == "__main__":
    run(main)
