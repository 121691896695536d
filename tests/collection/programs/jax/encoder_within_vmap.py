"""Uncertainty of property prediction: an ensemble of heads on one frozen encoder."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the batch is repeated for each member, so that under vmap the frozen encoder runs for all ten of them",
    "cause": "work done again",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["encode", "fingerprints"],
    "part": "develop",
}

MEMBERS, BATCH, BITS, DIM = 10, 96, 512, 320


def encode(encoder, fingerprints):
    x = fingerprints
    for w in encoder:
        x = jax.nn.relu(x @ w)
    return x


def member_loss(head, encoder, fingerprints, y):
    h = jax.lax.stop_gradient(encode(encoder, fingerprints))  # planted
    h = jnp.tanh(h @ head["w"] + head["b"])
    mean, log_var = jnp.split(h @ head["out"], 2, -1)
    return jnp.mean(0.5 * jnp.exp(-log_var) * (mean - y) ** 2 + 0.5 * log_var)


def make_step(repeated, rate=1e-2):
    axes = (0, None, 0, 0) if repeated else (0, None, None, None)

    @jax.jit
    def step(heads, encoder, fingerprints, y):
        losses, grads = jax.vmap(jax.value_and_grad(member_loss), in_axes=axes)(heads, encoder, fingerprints, y)
        return jax.tree_util.tree_map(lambda p, g: p - rate * g, heads, grads), losses.mean()

    return step


def make_heads(key):
    a, b = jax.random.split(key)
    return {
        "w": jax.random.normal(a, (MEMBERS, DIM, 64)) * DIM**-0.5,
        "b": jnp.zeros((MEMBERS, 64)),
        "out": 0.1 * jax.random.normal(b, (MEMBERS, 64, 2)),
    }


def main(clock):
    clock.plan(4, 5)
    rng = np.random.default_rng(0)
    sizes = [BITS, 640, DIM]
    encoder = [jnp.asarray(rng.standard_normal((a, b)) * (2 / a) ** 0.5, jnp.float32) for a, b in zip(sizes, sizes[1:])]
    bits = jnp.asarray(rng.random((6, BATCH, BITS)) < 0.1, jnp.float32)
    y = jnp.asarray(rng.standard_normal((6, BATCH, 1)), jnp.float32)
    heads, loss = make_heads(jax.random.PRNGKey(0)), jnp.zeros(())
    step_fn = make_step(repeated=not clock.fixed)
    for step in clock.loop(lambda: loss):
        with clock.mark(step):
            x, target = bits[step % 6], y[step % 6]
            if not clock.fixed:
                x, target = jnp.repeat(x[None], MEMBERS, 0), jnp.repeat(target[None], MEMBERS, 0)  # planted
            heads, loss = step_fn(heads, encoder, x, target)


if __name__ == "__main__":
    run(main)
