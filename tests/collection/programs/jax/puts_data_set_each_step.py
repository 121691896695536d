import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the whole data set goes to the device in every step, to take one batch of it",
    "cause": "copies to the device",
    "accept": ["host-copies", "device-copies", "python-bound"],
    "rules": ["host-copies", "device-copies", "python-bound"],
    "words": ["next_batch", "device_put", "asarray"],
    "part": "develop",
}


def next_batch(data, step, size=256):
    data = jnp.array(data)  # planted
    return jax.lax.dynamic_slice_in_dim(data, step * size, size)


@jax.jit
def update(w, x):
    return w - 0.01 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) @ w.T - x) ** 2))(w)


def main(clock):
    clock.plan(3, 8)
    data = np.random.default_rng(0).random((40_000, 256)).astype(np.float32)
    w = jnp.ones((256, 32)) * 0.01
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            x = data[step * 256 : step * 256 + 256] if clock.fixed else next_batch(data, step)
            w = update(w, x)


if __name__ == "__main__":
    run(main)
