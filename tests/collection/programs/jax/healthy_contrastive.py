"""CLIP in small: images by patches and captions by tokens into one space."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "healthy",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}

DIM, HEADS, PATCHES, TOKENS, VOCAB, BATCH = 128, 4, 36, 32, 2048, 32


def matrix(key, a, b):
    return jax.random.normal(key, (a, b)) * a**-0.5


def init_block(key):
    ks = jax.random.split(key, 4)
    return {
        "qkv": matrix(ks[0], DIM, 3 * DIM),
        "out": matrix(ks[1], DIM, DIM),
        "up": matrix(ks[2], DIM, 4 * DIM),
        "down": matrix(ks[3], 4 * DIM, DIM),
    }


def init(key):
    ks = jax.random.split(key, 5)
    return {
        "patch": matrix(ks[0], 192, DIM),
        "table": matrix(ks[1], VOCAB, DIM),
        "image": init_block(ks[2]),
        "text": init_block(ks[3]),
        "scale": jnp.array(2.0),
    }


def norm(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def block(p, x):
    b, t, d = x.shape
    q, k, v = jnp.moveaxis((norm(x) @ p["qkv"]).reshape(b, t, 3, HEADS, d // HEADS), 2, 0)
    a = jax.nn.softmax(jnp.einsum("bihd,bjhd->bhij", q, k) * (d // HEADS) ** -0.5)
    x = x + jnp.einsum("bhij,bjhd->bihd", a, v).reshape(b, t, d) @ p["out"]
    return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]


def unit(x):
    return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


def loss_fn(p, images, tokens):
    u = unit(block(p["image"], images @ p["patch"]).mean(1))
    v = unit(block(p["text"], p["table"][tokens]).mean(1))
    logits = jnp.exp(p["scale"]) * u @ v.T
    rows, columns = jax.nn.log_softmax(logits), jax.nn.log_softmax(logits.T)
    return -0.5 * (jnp.trace(rows) + jnp.trace(columns)) / len(u)


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(p, m, images, tokens):
    loss, g = jax.value_and_grad(loss_fn)(p, images, tokens)
    m = jax.tree_util.tree_map(lambda a, b: 0.9 * a + b, m, g)
    return jax.tree_util.tree_map(lambda a, b: a - 1e-3 * b, p, m), m, loss


def main(clock):
    clock.plan(4, 6)
    rng = np.random.default_rng(0)
    images = jnp.asarray(rng.standard_normal((BATCH, PATCHES, 192)), jnp.float32)
    tokens = jnp.asarray(rng.integers(0, VOCAB, (BATCH, TOKENS)))
    params = init(jax.random.PRNGKey(0))
    momentum = jax.tree_util.tree_map(jnp.zeros_like, params)
    loss = jnp.zeros(())
    for step in clock.loop(lambda: loss):
        with clock.mark(step):
            params, momentum, loss = train_step(params, momentum, images, tokens)


if __name__ == "__main__":
    run(main)
