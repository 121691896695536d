import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "jax.debug.callback formats the gradients of every layer in every step",
    "cause": "host callbacks",
    "accept": ["print-every-step", "host-callbacks"],
    "rules": ["print-every-step", "host-callbacks"],
    "words": ["remember", "callback"],
    "part": "develop",
}
seen = []


def remember(grad):
    seen[:] = [repr(np.asarray(grad).tolist())]  # planted


def loss_fn(params, x):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean(x**2)


def update(params, x, watch):
    grads = jax.grad(loss_fn)(params, x)
    if watch:
        for grad in grads:
            jax.debug.callback(remember, grad)  # planted
    return [p - 0.1 * g for p, g in zip(params, grads)]


def main(clock):
    clock.plan(3, 6)
    step_fn = jax.jit(update, static_argnums=2)
    key = jax.random.PRNGKey(0)
    params = [jax.random.normal(key, (128, 128)) * 0.1 for _ in range(6)]
    x = jax.random.normal(key, (64, 128))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params = step_fn(params, x, not clock.fixed)


if __name__ == "__main__":
    run(main)
