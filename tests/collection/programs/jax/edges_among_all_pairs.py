"""A graph autoencoder with sampled edges, in plain JAX."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the decoder multiplies all pairs of 2,400 nodes, and reads the 4,800 edges of the batch",
    "cause": "work done in vain",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["logits_of_edges"],
    "part": "develop",
}

NODES, FEATURES, SIZE, EDGES = 2400, 48, 64, 4800


def encode(params, x, near):
    h = jax.nn.relu((x + x[near].mean(1)) @ params["one"])
    return (h + h[near].mean(1)) @ params["two"]


def logits_of_edges(z, pairs):
    return (z @ z.T)[pairs[0], pairs[1]]  # planted


def logits_of_those(z, pairs):
    return jnp.sum(z[pairs[0]] * z[pairs[1]], axis=-1)


def main(clock):
    clock.plan(2, 6)
    decode = logits_of_those if clock.fixed else logits_of_edges

    def loss_of(params, x, near, pairs, known):
        logits = decode(encode(params, x, near), pairs)
        return jnp.mean(jax.nn.softplus(logits) - logits * known)

    @jax.jit
    def train_step(params, x, near, pairs, known):
        loss, grads = jax.value_and_grad(loss_of)(params, x, near, pairs, known)
        return jax.tree_util.tree_map(lambda p, g: p - 1e-2 * g, params, grads), loss

    draw = np.random.default_rng(0)
    params = {
        "one": jnp.asarray(draw.normal(size=(FEATURES, SIZE)) * 0.1, jnp.float32),
        "two": jnp.asarray(draw.normal(size=(SIZE, SIZE)) * 0.1, jnp.float32),
    }
    x = jnp.asarray(draw.normal(size=(NODES, FEATURES)), jnp.float32)
    near = jnp.asarray(draw.integers(NODES, size=(NODES, 6)))
    for step in clock.loop():
        with clock.mark(step):
            pairs = jnp.asarray(draw.integers(NODES, size=(2, EDGES)))
            known = jnp.asarray(draw.integers(2, size=EDGES), jnp.float32)
            params, loss = train_step(params, x, near, pairs, known)
            float(loss)


if __name__ == "__main__":
    run(main)
