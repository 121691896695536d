"""An autoregressive model of daily load curves: mixer blocks over time and over channels."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "after a search for a difference of two machines, all products are still computed with precision HIGHEST",
    "cause": "more precision than it needs",
    "accept": ["full-precision", "tensor-cores-unused", "largest-part", "dominant-op"],
    "rules": ["full-precision", "tensor-cores-unused", "dominant-op"],
    "words": ["product", "HIGHEST", "dot_general", "gemm", "precision"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
BATCH, TIME, CHANNELS, BLOCKS = (96, 192, 1024, 4) if GPU else (8, 48, 64, 2)



def product(x, w, exact):
    return jnp.matmul(x, w, precision=jax.lax.Precision.HIGHEST if exact else None)  # planted


def normal(x):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)


def mixer_block(x, p, exact):
    over_time = product(normal(x).swapaxes(1, 2), p["time"], exact)
    x = x + jax.nn.gelu(over_time).swapaxes(1, 2)
    hidden = jax.nn.gelu(product(normal(x), p["up"], exact))
    return x + product(hidden, p["down"], exact)


@partial(jax.jit, static_argnames="exact")
def learn(params, velocity, curves, exact):
    def loss_fn(params):
        x = jnp.tanh(curves)
        for p in params:
            x = mixer_block(x, p, exact)
        return jnp.mean((x[:, :-1] - curves[:, 1:]) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    return jax.tree.map(lambda p, v: p - 1e-2 * v, params, velocity), velocity, loss


def main(clock):
    clock.plan(3, 5)
    params = []
    for key in jax.random.split(jax.random.PRNGKey(0), BLOCKS):
        a, b, c = jax.random.split(key, 3)
        params.append(
            {
                "time": jax.random.normal(a, (TIME, TIME)) / TIME,
                "up": jax.random.normal(b, (CHANNELS, 2 * CHANNELS)) * CHANNELS**-0.5,
                "down": jax.random.normal(c, (2 * CHANNELS, CHANNELS)) * 0.1 * CHANNELS**-0.5,
            }
        )
    velocity = jax.tree.map(jnp.zeros_like, params)
    curves = jax.random.normal(jax.random.PRNGKey(1), (BATCH, TIME, CHANNELS))
    for step in clock.loop(lambda: params):
        with clock.mark(step, "learn"):
            params, velocity, loss = learn(params, velocity, curves, exact=not clock.fixed)


if __name__ == "__main__":
    run(main)
