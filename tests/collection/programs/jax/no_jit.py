import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the update runs op by op: jit was forgotten",
    "cause": "eager execution",
    "accept": ["eager-execution"],
    "rules": ["eager-execution"],
    "words": ["update", "jit", "eager"],
    "part": "develop",
}


def loss_fn(params, x, y):
    for w, b in params:
        x = jnp.tanh(x @ w + b)
    return jnp.mean((x - y) ** 2)


def update(params, x, y):
    grads = jax.grad(loss_fn)(params, x, y)  # planted
    return [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(params, grads)]  # planted


def main(clock):
    clock.plan(2, 3)
    step_fn = jax.jit(update) if clock.fixed else update
    key = jax.random.PRNGKey(0)
    params = [(jax.random.normal(key, (64, 64)) * 0.1, jnp.zeros(64)) for _ in range(3)]
    x = jax.random.normal(key, (128, 64))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params = step_fn(params, x, x)  # planted


if __name__ == "__main__":
    run(main)
