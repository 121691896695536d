"""A deep ensemble for a reward model: sixteen small nets, each with its own bootstrap weights."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the gradients of the members of an ensemble are computed one member after the other by lax.map",
    "cause": "a loop of tiny ops on the device",
    "accept": ["graph-loop", "tiny-kernels", "tiny-ops", "launch-bound", "largest-part"],
    "rules": ["graph-loop", "tiny-kernels", "tiny-ops", "launch-bound"],
    "words": ["ensemble_gradients", "while", "lax.map"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
MEMBERS, BATCH, INPUTS, HIDDEN = (16, 1024, 64, 512) if GPU else (16, 32, 16, 32)


def reward(p, x):
    x = jax.nn.silu(x @ p["w1"] + p["b1"])
    x = jax.nn.silu(x @ p["w2"] + p["b2"])
    x = jax.nn.silu(x @ p["w3"] + p["b3"])
    return (x @ p["w4"])[:, 0]


def preference_loss(p, better, worse, weight):
    good, bad = jnp.split(reward(p, jnp.concatenate([better, worse])), 2)
    return -jnp.mean(weight * jax.nn.log_sigmoid(good - bad))


def ensemble_gradients(members, better, worse, weights, together):
    def one(member):
        p, weight = member
        return jax.grad(preference_loss)(p, better, worse, weight)

    if together:
        return jax.vmap(one)((members, weights))
    return jax.lax.map(one, (members, weights))  # planted


def sample(key, members):
    a, b, c = jax.random.split(key, 3)
    better = jax.random.normal(a, (BATCH, INPUTS)) + 0.2
    worse = jax.random.normal(b, (BATCH, INPUTS))
    weights = jax.random.poisson(c, 1.0, (members, BATCH)).astype(jnp.float32)
    return better, worse, weights


@partial(jax.jit, static_argnames="together")
def train(key, members, m, v, together):
    key, sub = jax.random.split(key)
    g = ensemble_gradients(members, *sample(sub, MEMBERS), together)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
    members = jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), members, m, v)
    return key, members, m, v


@jax.jit
@jax.vmap
def init(key):
    a, b, c, d = jax.random.split(key, 4)
    return {
        "w1": jax.random.normal(a, (INPUTS, HIDDEN)) * INPUTS**-0.5,
        "w2": jax.random.normal(b, (HIDDEN, HIDDEN)) * HIDDEN**-0.5,
        "w3": jax.random.normal(c, (HIDDEN, HIDDEN)) * HIDDEN**-0.5,
        "w4": jax.random.normal(d, (HIDDEN, 1)) * HIDDEN**-0.5,
        "b1": jnp.zeros(HIDDEN),
        "b2": jnp.zeros(HIDDEN),
        "b3": jnp.zeros(HIDDEN),
    }


def main(clock):
    clock.plan(3, 4)
    key = jax.random.PRNGKey(0)
    members = init(jax.random.split(key, MEMBERS))
    m = jax.tree.map(jnp.zeros_like, members)
    v = jax.tree.map(jnp.zeros_like, members)
    for step in clock.loop(lambda: members):
        with clock.mark(step):
            key, members, m, v = train(key, members, m, v, together=clock.fixed)


if __name__ == "__main__":
    run(main)
