import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the learning rate is a static argument and changes in each step",
    "cause": "recompilation",
    "accept": ["recompilation", "retracing"],
    "rules": ["recompilation", "retracing"],
    "words": ["sgd", "compil", "Compil"],
    "part": "develop",
}


def step_of(w, x, rate):
    grad = jax.grad(lambda w: jnp.mean((jax.nn.relu(x @ w) - x) ** 2))(w)
    return w - rate * grad


sgd = partial(jax.jit, static_argnums=2)(step_of)
sgd_traced = jax.jit(step_of)


def main(clock):
    clock.plan(2, 6)
    key = jax.random.PRNGKey(0)
    w = jax.random.normal(key, (128, 128)) * 0.1
    x = jax.random.normal(key, (256, 128))
    if not clock.fixed:
        jax.clear_caches()
    for step in clock.loop(lambda: w):
        rate = 0.1 / (1.0 + 0.01 * step)
        with clock.mark(step):
            w = sgd_traced(w, x, rate) if clock.fixed else sgd(w, x, rate)  # planted


if __name__ == "__main__":
    run(main)
