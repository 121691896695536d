"""Lagrangian networks: accelerations of a chain of pendulums from a learnt energy."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "accelerations come from the pseudo-inverse of the mass matrix, a singular value decomposition for each state, where the matrix is positive and a solve does",
    "cause": "a costly way to compute the same",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["pinv", "svd", "gesdd", "accelerations"],
    "part": "develop",
}

JOINTS, WIDTH, BATCH = 12, 96, 256


def init(key):
    a, b, c = jax.random.split(key, 3)
    normal = jax.random.normal
    return {
        "mass1": normal(a, (2 * JOINTS, WIDTH)) * 0.2,
        "mass2": normal(b, (WIDTH, JOINTS * JOINTS)) * 0.1,
        "fall1": normal(c, (2 * JOINTS, WIDTH)) * 0.2,
        "fall2": normal(a, (WIDTH, 1)) * 0.1,
    }


def features(q):
    return jnp.concatenate([jnp.cos(q), jnp.sin(q)])


def mass(p, q):
    root = (jax.nn.softplus(features(q) @ p["mass1"]) @ p["mass2"]).reshape(JOINTS, JOINTS)
    return root @ root.T + 0.5 * jnp.eye(JOINTS)


def potential(p, q):
    return (jax.nn.softplus(features(q) @ p["fall1"]) @ p["fall2"])[0]


def forces(p, q, v):
    momentum = lambda q: mass(p, q) @ v
    turning = jax.jvp(momentum, (q,), (v,))[1]
    kinetic = jax.grad(lambda q: 0.5 * v @ mass(p, q) @ v)(q)
    return kinetic - turning - jax.grad(potential, 1)(p, q)


def accelerations(p, q, v, by_solve):
    if by_solve:
        return jnp.linalg.solve(mass(p, q), forces(p, q, v))
    return jnp.linalg.pinv(mass(p, q)) @ forces(p, q, v)  # planted


@partial(jax.jit, static_argnums=4)
def train_step(p, q, v, seen, by_solve):
    def loss(p):
        found = jax.vmap(partial(accelerations, by_solve=by_solve), (None, 0, 0))(p, q, v)
        return jnp.mean(jnp.abs(found - seen))

    value, grads = jax.value_and_grad(loss)(p)
    return jax.tree_util.tree_map(lambda a, g: a - 1e-3 * g, p, grads), value


def main(clock):
    clock.plan(3, 5)
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    p = init(keys[0])
    q, v, seen = (jax.random.normal(key, (BATCH, JOINTS)) for key in keys[1:])
    value = jnp.zeros(())
    for step in clock.loop(lambda: value):
        with clock.mark(step):
            p, value = train_step(p, q, v, seen, clock.fixed)
            value.block_until_ready()


if __name__ == "__main__":
    run(main)
