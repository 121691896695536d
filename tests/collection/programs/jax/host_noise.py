import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "large noise is drawn with numpy on the host in every step",
    "cause": "random numbers made on the host",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["draw_noise", "normal"],
    "part": "develop",
}


def draw_noise(rng, shape):
    return rng.normal(0.0, 0.1, size=shape).astype(np.float32)  # planted


@jax.jit
def train_step(w, x, noise):
    grad = jax.grad(lambda w: jnp.mean((jnp.tanh((x + noise) @ w) - x) ** 2))(w)
    return w - 0.1 * grad


def main(clock):
    clock.plan(3, 8)
    rng = np.random.default_rng(0)
    w = jnp.asarray(rng.normal(size=(64, 64)).astype(np.float32) * 0.1)
    x = jnp.ones((8192, 64))
    still = np.zeros((8192, 64), np.float32)
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            noise = still if clock.fixed else draw_noise(rng, x.shape)
            w = train_step(w, x, noise)


if __name__ == "__main__":
    run(main)
