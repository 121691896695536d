"""A transformer of sensor logs at a size that fits the memory many times over."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each layer is wrapped in jax.checkpoint though all activations fit: the backward pass computes the layers again",
    "cause": "work done again",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["checkpoint", "remat", "rematted_computation"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
BATCH, TIME, WIDTH, HEADS, LAYERS = (16, 512, 1024, 16, 6) if GPU else (4, 64, 64, 4, 3)


def norm(x):
    x32 = x.astype(jnp.float32)
    return (x32 * jax.lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-6)).astype(x.dtype)


def layer(x, p):
    b, t, d = x.shape
    q, k, v = jnp.split((norm(x) @ p["qkv"]).reshape(b, t, HEADS, -1), 3, -1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) * (d // HEADS) ** -0.5
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(x.dtype), v)
    x = x + mixed.reshape(b, t, d) @ p["out"]
    return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]


def encode(layers, x, keep):
    one = layer if keep else jax.checkpoint(layer)  # planted
    return jax.lax.scan(lambda x, p: (one(x, p), None), x, layers)[0]


@partial(jax.jit, static_argnames="keep", donate_argnames="params")
def train_step(params, log, hidden, keep):
    def loss_fn(params):
        p = jax.tree.map(lambda a: a.astype(jnp.bfloat16), params)
        x = jnp.where(hidden[..., None], 0, log).astype(jnp.bfloat16) @ p["in"]
        guess = (encode(p["layers"], x, keep) @ p["head"]).astype(jnp.float32)
        return jnp.sum(hidden[..., None] * (guess - log) ** 2) / hidden.sum()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads), loss


def main(clock):
    clock.plan(3, 5)
    keys = jax.random.split(jax.random.PRNGKey(0), 8)
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    params = {
        "layers": {n: 0.02 * jax.random.normal(k, (LAYERS, *s)) for k, (n, s) in zip(keys, shapes.items())},
        "in": 0.1 * jax.random.normal(keys[4], (64, WIDTH)),
        "head": 0.02 * jax.random.normal(keys[5], (WIDTH, 64)),
    }
    log = jax.random.normal(keys[6], (BATCH, TIME, 64))
    hidden = jax.random.bernoulli(keys[7], 0.3, (BATCH, TIME))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = train_step(params, log, hidden, keep=clock.fixed)


if __name__ == "__main__":
    run(main)
