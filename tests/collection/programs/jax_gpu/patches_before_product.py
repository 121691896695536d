"""Removes noise from micrographs: a residual net of 3 x 3 filters at one resolution."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a convolution is written as nine shifted copies of the picture, put side by side, times a matrix",
    "cause": "a huge intermediate",
    "accept": ["largest-part", "dominant-op", "device-copies"],
    "rules": ["device-copies"],
    "words": ["filter_patches", "concatenate", "pad"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
BATCH, SIDE, CHANNELS, LAYERS = (96, 64, 96, 3) if GPU else (4, 24, 16, 3)


def filter_patches(x, w):
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    shifted = [padded[:, i : i + SIDE, j : j + SIDE] for i in range(3) for j in range(3)]
    return jnp.concatenate(shifted, -1) @ w.reshape(-1, w.shape[-1])  # planted


def filter_directly(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def restore(params, x, direct):
    h = x @ params["in"]
    for w, gain in params["layers"]:
        h = h + gain * (filter_directly if direct else filter_patches)(jax.nn.silu(h), w)
    return x + h @ params["out"]


@partial(jax.jit, static_argnames="direct")
def update(params, key, clean, direct):
    key, sub = jax.random.split(key)
    noisy = clean + 0.1 * jax.random.normal(sub, clean.shape)
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((restore(p, noisy, direct) - clean) ** 2))(params)
    return jax.tree.map(lambda p, g: p - 1e-2 * g, params, grads), key, loss


def main(clock):
    clock.plan(3, 5)
    keys = jax.random.split(jax.random.PRNGKey(0), LAYERS + 1)
    layers = [(0.03 * jax.random.normal(k, (3, 3, CHANNELS, CHANNELS)), jnp.ones(CHANNELS)) for k in keys[1:]]
    params = {"in": 0.5 * jax.random.normal(keys[0], (4, CHANNELS)), "out": jnp.zeros((CHANNELS, 4)), "layers": layers}
    clean = jnp.tanh(jax.random.normal(keys[0], (BATCH, SIDE, SIDE, 4)))
    key = keys[0]
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, key, loss = update(params, key, clean, direct=clock.fixed)


if __name__ == "__main__":
    run(main)
