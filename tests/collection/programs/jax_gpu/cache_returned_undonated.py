"""Generates text with a cache of keys and values: one compiled call per token."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the cache of keys and values is an argument that is not donated: each token copies all of it",
    "cause": "a large array copied to change a few rows",
    "accept": ["device-copies", "dominant-op", "largest-part"],
    "rules": ["device-copies", "dominant-op"],
    "words": ["copy", "next_token", "donate", "dynamic_update_slice"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
LAYERS, ROWS, LENGTH, HEADS, SIZE = (4, 32, 6144, 8, 64) if GPU else (2, 4, 2048, 4, 16)
WIDTH, VOCABULARY, TOKENS = (1024, 16384, 5) if GPU else (64, 512, 4)


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def attend(p, x, cache, at):
    q, k, v = jnp.split((norm(x) @ p["qkv"]).reshape(ROWS, HEADS, 3 * SIZE), 3, -1)
    keys = jax.lax.dynamic_update_slice(cache["k"], k[:, :, None], (0, 0, at, 0))
    values = jax.lax.dynamic_update_slice(cache["v"], v[:, :, None], (0, 0, at, 0))
    scores = jnp.einsum("bhd,bhtd->bht", q, keys).astype(jnp.float32) * SIZE**-0.5
    scores = jnp.where(jnp.arange(LENGTH) <= at, scores, -1e9)
    mixed = jnp.einsum("bht,bhtd->bhd", jax.nn.softmax(scores).astype(x.dtype), values)
    return x + mixed.reshape(ROWS, HEADS * SIZE) @ p["out"], {"k": keys, "v": values}


def next_token(params, caches, tokens, at):
    x, new = params["embed"][tokens], []
    for p, cache in zip(params["layers"], caches):
        x, cache = attend(p, x, cache, at)
        x = x + jax.nn.silu(norm(x) @ p["up"]) @ p["down"]
        new.append(cache)
    return jnp.argmax(norm(x) @ params["embed"].T, -1), new, at + 1


copying = jax.jit(next_token)  # planted
donating = jax.jit(next_token, donate_argnums=1)


def build(key):
    layers = []
    shapes = {"qkv": (WIDTH, 3 * HEADS * SIZE), "out": (HEADS * SIZE, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    for k in jax.random.split(key, LAYERS):
        keys = jax.random.split(k, 4)
        layers.append({n: (0.02 * jax.random.normal(a, s)).astype(jnp.bfloat16) for a, (n, s) in zip(keys, shapes.items())})
    return {"embed": (0.02 * jax.random.normal(key, (VOCABULARY, WIDTH))).astype(jnp.bfloat16), "layers": layers}


def main(clock):
    clock.plan(3, 4)
    params = build(jax.random.PRNGKey(0))
    empty = lambda: jnp.zeros((ROWS, HEADS, LENGTH, SIZE), jnp.bfloat16)
    caches = [{"k": empty(), "v": empty()} for _ in range(LAYERS)]
    tokens, at = jnp.zeros(ROWS, jnp.int32), jnp.int32(LENGTH // 2)
    generate = donating if clock.fixed else copying
    for step in clock.loop(lambda: tokens):
        with clock.mark(step, "generate"):
            for _ in range(TOKENS):
                tokens, caches, at = generate(params, caches, tokens, at)  # planted


if __name__ == "__main__":
    run(main)
