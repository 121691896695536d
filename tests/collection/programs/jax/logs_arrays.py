import logging
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the whole weight matrix is formatted into the log in every step",
    "cause": "logging",
    "accept": ["print-every-step", "python-bound"],
    "rules": ["print-every-step", "python-bound"],
    "words": ["log_weights", "array2string", "logging"],
    "part": "develop",
}
log = logging.getLogger("train")


def log_weights(w, step):
    log.info("step %d weights %s", step, np.array2string(np.asarray(w), threshold=100000))  # planted


@jax.jit
def update(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)


def main(clock):
    clock.plan(2, 5)
    handler = logging.FileHandler(clock.folder + "/train.log")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(handler)
    key = jax.random.PRNGKey(0)
    w = jax.random.normal(key, (32, 8))
    x = jax.random.normal(key, (256, 32))
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w = w + 0.001 * jnp.sum(update(jnp.eye(32), x))
            if not clock.fixed:
                log_weights(w, step)
    log.removeHandler(handler)


if __name__ == "__main__":
    run(main)
