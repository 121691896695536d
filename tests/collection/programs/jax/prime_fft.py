"""Hyena-like long convolutions on a synthetic recall task."""
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "long convolutions are padded to 2L - 1 for their Fourier transforms: a prime length",
    "cause": "algorithm",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["fft", "rfft", "irfft", "long_conv"],
    "part": "develop",
}


class Hyper(NamedTuple):
    length: int = 4096
    dim: int = 24
    batch: int = 1
    layers: int = 2
    lr: float = 1e-3


def fft_size(length, padded):
    return 2 * length if padded else 2 * length - 1  # planted


def long_conv(u, h, n):
    spectrum = jnp.fft.rfft(u, n=n, axis=1) * jnp.fft.rfft(h, n=n, axis=0)  # planted
    return jnp.fft.irfft(spectrum, n=n, axis=1)[:, : u.shape[1]]  # planted


def init(key, hp):
    layers = []
    for k in jax.random.split(key, hp.layers):
        a, b, c, d, e = jax.random.split(k, 5)
        layers.append(
            {
                "in": jax.random.normal(a, (hp.dim, 3 * hp.dim)) * hp.dim**-0.5,
                "filter": jax.random.normal(b, (hp.length, hp.dim)) / hp.length,
                "decay": jnp.linspace(1e-3, 1e-1, hp.dim),
                "out": jax.random.normal(c, (hp.dim, hp.dim)) * hp.dim**-0.5,
                "up": jax.random.normal(d, (hp.dim, 2 * hp.dim)) * hp.dim**-0.5,
                "down": jax.random.normal(e, (2 * hp.dim, hp.dim)) * (2 * hp.dim) ** -0.5,
            }
        )
    return layers


def hyena(layer, x, n):
    v, g1, g2 = jnp.split(x @ layer["in"], 3, -1)
    window = jnp.exp(-layer["decay"] * jnp.arange(x.shape[1])[:, None])
    y = long_conv(v * jax.nn.sigmoid(g1), layer["filter"] * window, n)
    return (y * jax.nn.sigmoid(g2)) @ layer["out"]


def loss_fn(params, x, y, n):
    h = x
    for layer in params:
        h = h + hyena(layer, h, n)
        h = h + jax.nn.gelu(h @ layer["up"]) @ layer["down"]
    return jnp.mean((h - y) ** 2)


@partial(jax.jit, static_argnames=("n", "lr"))
def update(params, x, y, n, lr):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y, n)
    return jax.tree_util.tree_map(lambda p, g: p - lr * g, params, grads), loss


def main(clock):
    clock.plan(4, 6)
    hp = Hyper()
    params = init(jax.random.PRNGKey(0), hp)
    n = fft_size(hp.length, padded=clock.fixed)
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.standard_normal((hp.batch, hp.length, hp.dim)), jnp.float32)
    y = jnp.roll(x, 100, axis=1)
    loss = jnp.zeros(())
    for step in clock.loop(lambda: loss):
        with clock.mark(step):
            params, loss = update(params, x, y, n, hp.lr)
            if not jnp.isfinite(loss):
                raise FloatingPointError(f"step {step}")


if __name__ == "__main__":
    run(main)
