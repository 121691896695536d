import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the whole history of losses and features is stacked and averaged again in every step",
    "cause": "work that grows with the steps",
    "accept": ["python-bound"],
    "rules": ["python-bound", "slow-steps", "uneven-steps"],
    "words": ["moving_average", "stack"],
    "part": "develop",
}


def moving_average(history):
    return np.stack(history).mean(axis=0)  # planted


@jax.jit
def update(w, x):
    y = jnp.tanh(x @ w)
    return w - 0.1 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w), y


def main(clock):
    clock.plan(12, 12)
    rng = np.random.default_rng(0)
    w = jnp.asarray(rng.normal(size=(128, 128)).astype(np.float32) * 0.1)
    x = rng.normal(size=(512, 128)).astype(np.float32)
    history = []
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w, y = update(w, x)
            if not clock.fixed:
                history.append(np.asarray(y))
                moving_average(history)


if __name__ == "__main__":
    run(main)
