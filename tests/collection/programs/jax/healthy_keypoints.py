"""Key points by convolutions in NHWC and a soft argmax (healthy)."""
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

SIDE, POINTS, BATCH = 64, 9, 24


class State(NamedTuple):
    kernels: list
    momentum: list


def init(key, widths=(3, 24, 48, POINTS)):
    keys = jax.random.split(key, len(widths))
    kernels = [jax.random.normal(k, (3, 3, i, o)) * (9 * i) ** -0.5 for k, i, o in zip(keys, widths, widths[1:])]
    return State(kernels, [jnp.zeros_like(k) for k in kernels])


def heat(kernels, x):
    for depth, kernel in enumerate(kernels):
        stride = 2 if depth < 2 else 1
        x = jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x) if depth < len(kernels) - 1 else x
    return x


def places(kernels, x):
    maps = heat(kernels, x)
    side = maps.shape[1]
    weights = jax.nn.softmax(maps.reshape(len(x), side * side, POINTS), 1)
    grid = jnp.stack(jnp.meshgrid(jnp.arange(side), jnp.arange(side), indexing="ij"), -1).reshape(-1, 2) / side
    return jnp.einsum("bgp,gd->bpd", weights, grid)


@partial(jax.jit, donate_argnums=0)
def train_step(state, images, truth):
    loss = lambda kernels: jnp.abs(places(kernels, images) - truth).mean()
    value, grads = jax.value_and_grad(loss)(state.kernels)
    momentum = [0.9 * m + g for m, g in zip(state.momentum, grads)]
    return State([k - 0.1 * m for k, m in zip(state.kernels, momentum)], momentum), value


def main(clock):
    clock.plan(3, 5)
    rng = np.random.default_rng(0)
    images = rng.random((8, BATCH, SIDE, SIDE, 3), dtype="float32")
    truth = rng.random((8, BATCH, POINTS, 2), dtype="float32")
    images, truth = jax.device_put((images, truth))
    batches = [(images[i], truth[i]) for i in range(8)]
    state, value = init(jax.random.PRNGKey(0)), jnp.zeros(())
    for step in clock.loop(lambda: value):
        with clock.mark(step):
            state, value = train_step(state, *batches[step % 8])


if __name__ == "__main__":
    run(main)
