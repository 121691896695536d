import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "gradients of single examples come from a Python loop over jitted calls",
    "cause": "a loop over the batch",
    "accept": ["eager-execution", "python-bound", "launch-bound"],
    "rules": ["eager-execution", "python-bound", "launch-bound"],
    "words": ["each_gradient", "PjitFunction(slope)", "slope"],
    "part": "develop",
}


def loss(w, x):
    return jnp.mean((jnp.tanh(x @ w) - x) ** 2)


slope = jax.jit(jax.grad(loss))
slopes = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0)))


def each_gradient(w, batch):
    return [slope(w, row) for row in batch]  # planted


@jax.jit
def update(w, slopes):
    norms = jnp.sqrt(jnp.sum(slopes**2, axis=(1, 2)))
    return w - 0.1 * jnp.mean(slopes / jnp.maximum(1.0, norms)[:, None, None], axis=0)


def main(clock):
    clock.plan(3, 4)
    batch = np.random.default_rng(0).normal(size=(48, 32)).astype(np.float32)
    w = jnp.eye(32)
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            if clock.fixed:
                w = update(w, slopes(w, batch))
            else:
                w = update(w, jnp.stack(each_gradient(w, batch)))


if __name__ == "__main__":
    run(main)
