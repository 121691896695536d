import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a distance in numpy, called back from the compiled step",
    "cause": "host callbacks",
    "accept": ["host-callbacks", "print-every-step"],
    "rules": ["host-callbacks", "print-every-step"],
    "words": ["edit_distances", "callback"],
    "part": "develop",
}


def edit_distances(a, b):
    out = np.zeros(len(a), np.float32)
    rows_a, rows_b = np.asarray(a).tolist(), np.asarray(b).tolist()
    for i in range(len(a)):
        total = 0.0
        for x, y in zip(rows_a[i], rows_b[i]):
            total += (x - y) ** 2  # planted
        out[i] = total**0.5
    return out


def in_jax(a, b):
    return jnp.sqrt(jnp.sum((a - b) ** 2, axis=1))


def update(w, x, is_fixed):
    y = jnp.tanh(x @ w)
    if is_fixed:
        distance = in_jax(y, x)
    else:
        shape = jax.ShapeDtypeStruct((x.shape[0],), jnp.float32)
        distance = jax.pure_callback(edit_distances, shape, y, x)  # planted
    grad = jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)
    return w - 0.001 * jnp.mean(distance) * grad


def main(clock):
    clock.plan(3, 6)
    step_fn = jax.jit(update, static_argnums=2)
    key = jax.random.PRNGKey(0)
    w = jax.random.normal(key, (32, 32)) * 0.1
    x = jax.random.normal(key, (600, 32))
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w = step_fn(w, x, clock.fixed)


if __name__ == "__main__":
    run(main)
