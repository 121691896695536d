import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "jax_enable_x64 left on: everything is float64",
    "cause": "float64",
    "accept": ["float64", "double-precision"],
    "rules": ["float64", "double-precision"],
    "words": ["float64", "f64", "double", "dot"],
    "family": "dot",
    "part": "develop",
}


@jax.jit
def train_step(params, x):
    def loss(params):
        y = x
        for p in params:
            y = jnp.tanh(y @ p)
        return jnp.mean((y - x) ** 2)

    grads = jax.grad(loss)(params)
    return [p - 0.1 * g for p, g in zip(params, grads)]


def main(clock):
    clock.plan(3, 8)
    jax.config.update("jax_enable_x64", not clock.fixed)  # planted
    rng = np.random.default_rng(0)
    params = [jnp.asarray(rng.normal(size=(384, 384)) * 0.05) for _ in range(3)]
    x = jnp.asarray(rng.normal(size=(256, 384)))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params = train_step(params, x)


if __name__ == "__main__":
    run(main)
