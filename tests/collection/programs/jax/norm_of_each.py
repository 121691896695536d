import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the norm of every gradient is fetched with float() before the clipping",
    "cause": "a wait for the device per parameter",
    "accept": ["eager-execution", "python-bound", "host-waits"],
    "rules": ["eager-execution", "python-bound", "host-waits"],
    "words": ["clip_by_norm", "float", "jit"],
    "part": "develop",
}


@jax.jit
def grads_of(params, x):
    def loss(params):
        y = x
        for p in params:
            y = y + jnp.sin(y @ p)
        return jnp.mean(y**2)

    return jax.grad(loss)(params)


def clip_by_norm(grads, limit):
    norms = [float(jnp.linalg.norm(g)) for g in grads]  # planted
    return [g * min(1.0, limit / (n + 1e-6)) for g, n in zip(grads, norms)]  # planted


@jax.jit
def clip_compiled(grads):
    return [g * jnp.minimum(1.0, 1.0 / (jnp.linalg.norm(g) + 1e-6)) for g in grads]


@jax.jit
def apply(params, grads):
    return [p - 0.01 * g for p, g in zip(params, grads)]


def main(clock):
    clock.plan(3, 6)
    key = jax.random.PRNGKey(0)
    params = [jax.random.normal(key, (64, 64)) * 0.1 for _ in range(24)]
    x = jax.random.normal(key, (32, 64))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            grads = grads_of(params, x)
            grads = clip_compiled(grads) if clock.fixed else clip_by_norm(grads, 1.0)
            params = apply(params, grads)


if __name__ == "__main__":
    run(main)
