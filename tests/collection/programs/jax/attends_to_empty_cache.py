"""Text generation with a key-value cache: a small decoder, one token a step."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each token attends to all 1024 places of the cache, of which the text so far fills a few dozen, and masks the rest",
    "cause": "results computed and thrown away",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["attend", "bhd,blhd->bhl", "bhl,blhd->bhd"],
    "part": "develop",
}

LAYERS, WIDTH, HEADS, VOCABULARY, MAX_LENGTH, BATCH = 3, 320, 10, 4000, 1024, 6
HEAD = WIDTH // HEADS


def init(key):
    def matrix(key, a, b):
        return jax.random.normal(key, (a, b)) * a**-0.5

    keys = jax.random.split(key, LAYERS + 1)
    blocks = []
    for own in keys[1:]:
        a, b, c, d = jax.random.split(own, 4)
        blocks.append({"qkv": matrix(a, WIDTH, 3 * WIDTH), "out": matrix(b, WIDTH, WIDTH), "up": matrix(c, WIDTH, 4 * WIDTH), "down": matrix(d, 4 * WIDTH, WIDTH)})
    return {"embed": matrix(keys[0], VOCABULARY, WIDTH), "blocks": blocks}


def empty_cache():
    shape = (BATCH, MAX_LENGTH, HEADS, HEAD)
    return [{"k": jnp.zeros(shape), "v": jnp.zeros(shape)} for _ in range(LAYERS)]


def norm(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def attend(q, keys, values, position):
    scores = jnp.einsum("bhd,blhd->bhl", q, keys) * HEAD**-0.5  # planted
    scores = jnp.where(jnp.arange(keys.shape[1]) <= position, scores, -jnp.inf)
    return jnp.einsum("bhl,blhd->bhd", jax.nn.softmax(scores), values)  # planted


@partial(jax.jit, static_argnames="filled", donate_argnums=1)
def next_token(params, cache, tokens, position, filled):
    x = params["embed"][tokens]
    for block, kept in zip(params["blocks"], cache):
        q, k, v = ((norm(x) @ block["qkv"]).reshape(BATCH, 3, HEADS, HEAD)).swapaxes(0, 1)
        kept["k"] = jax.lax.dynamic_update_slice(kept["k"], k[:, None], (0, position, 0, 0))
        kept["v"] = jax.lax.dynamic_update_slice(kept["v"], v[:, None], (0, position, 0, 0))
        mixed = attend(q, kept["k"][:, :filled], kept["v"][:, :filled], position)
        x = x + mixed.reshape(BATCH, WIDTH) @ block["out"]
        x = x + jax.nn.gelu(norm(x) @ block["up"]) @ block["down"]
    return cache, jnp.argmax(norm(x) @ params["embed"].T, -1)


def main(clock):
    clock.plan(8, 6)
    params, cache = init(jax.random.PRNGKey(0)), empty_cache()
    filled = 64 if clock.fixed else MAX_LENGTH  # the next bucket of lengths, or all
    tokens = jnp.arange(BATCH)
    for step in clock.loop(lambda: tokens):
        with clock.mark(step, "decode"):
            cache, tokens = next_token(params, cache, tokens, step, filled)


if __name__ == "__main__":
    run(main)
