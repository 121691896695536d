"""Sampling from a small language model, with its keys and values kept."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the cache of all layers goes through the scan over layers, so that each token copies all of it",
    "cause": "memory copied",
    "accept": ["largest-part", "device-copies", "dominant-op"],
    "rules": ["device-copies", "dominant-op"],
    "words": ["dynamic_slice", "dynamic_update_slice", "dynamic-slice", "cache"],
    "part": "develop",
}
LAYERS, BATCH, HEADS, LENGTH, WIDTH = 6, 4, 4, 1024, 32


def weights(key):
    size = HEADS * WIDTH
    names = ("query", "key", "value", "out", "up", "down")
    shapes = {name: (LAYERS, size, size) for name in names}
    keys = jax.random.split(key, len(names))
    return {name: 0.02 * jax.random.normal(k, shapes[name]) for name, k in zip(names, keys)}


def attend(x, layer, cached_keys, cached_values, at):
    def heads(name):
        return (x @ layer[name]).reshape(BATCH, HEADS, WIDTH)

    cached_keys = jax.lax.dynamic_update_slice(cached_keys, heads("key")[:, :, None], (0, 0, at, 0))
    cached_values = jax.lax.dynamic_update_slice(cached_values, heads("value")[:, :, None], (0, 0, at, 0))
    scores = jnp.einsum("bhd,bhtd->bht", heads("query"), cached_keys) / WIDTH**0.5
    scores = jnp.where(jnp.arange(LENGTH) <= at, scores, -1e9)
    mixed = jnp.einsum("bht,bhtd->bhd", jax.nn.softmax(scores), cached_values)
    x = x + mixed.reshape(BATCH, -1) @ layer["out"]
    return x + jax.nn.gelu(x @ layer["up"]) @ layer["down"], cached_keys, cached_values


@partial(jax.jit, donate_argnums=(1,))
def through_scan(params, cache, x, at):
    def block(x, given):
        layer, keys, values = given
        x, keys, values = attend(x, layer, keys, values, at)
        return x, (keys, values)

    x, cache = jax.lax.scan(block, x, (params, *cache))  # planted
    return x, cache


@partial(jax.jit, donate_argnums=(1,))
def layer_by_layer(params, cache, x, at):
    kept = []
    for number, (keys, values) in enumerate(cache):
        layer = {name: one[number] for name, one in params.items()}
        x, keys, values = attend(x, layer, keys, values, at)
        kept.append((keys, values))
    return x, kept


def main(clock):
    clock.plan(3, 10)
    params = weights(jax.random.PRNGKey(0))
    shape = (BATCH, HEADS, LENGTH, WIDTH)
    if clock.fixed:
        cache = [(jnp.zeros(shape), jnp.zeros(shape)) for _ in range(LAYERS)]
        decode = layer_by_layer
    else:
        cache = (jnp.zeros((LAYERS, *shape)), jnp.zeros((LAYERS, *shape)))
        decode = through_scan
    x = jnp.ones((BATCH, HEADS * WIDTH))
    for step in clock.loop():
        with clock.mark(step):
            x, cache = decode(params, cache, x, step)
            x.block_until_ready()


if __name__ == "__main__":
    run(main)
