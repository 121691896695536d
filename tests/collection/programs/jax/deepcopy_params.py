import copy
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the best parameters so far are kept with copy.deepcopy in every step",
    "cause": "deep copies",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["deepcopy", "keep_best"],
    "part": "develop",
}


def keep_best(history, params, loss):
    history["best"] = copy.deepcopy(history["all"])  # planted
    history["loss"] = loss


@jax.jit
def update(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)
    return w - 0.1 * grad, loss


def main(clock):
    clock.plan(3, 8)
    key = jax.random.PRNGKey(0)
    w = jax.random.normal(key, (128, 128)) * 0.1
    x = jax.random.normal(key, (256, 128))
    history = {"all": {f"w{i}": {"value": list(range(30)), "name": str(i)} for i in range(30)}}
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w, loss = update(w, x)
            if not clock.fixed:
                keep_best(history, w, loss)


if __name__ == "__main__":
    run(main)
