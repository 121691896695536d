import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each word of a reply is computed from all words before it, none of which is kept",
    "cause": "decoding without a cache",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["one is read", "cache"],
    "part": "develop",
}
WIDTH, HEADS, LAYERS, WORDS, LONGEST, NEW = 96, 4, 3, 800, 96, 10


def linear(p, x):
    return x @ p["w"] + p["b"]


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + 1e-5)


def heads(x):
    return x.reshape(*x.shape[:-1], HEADS, WIDTH // HEADS)


def attend(q, k, v, mask):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (WIDTH // HEADS) ** 0.5
    scores = jnp.where(mask, scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    return mixed.reshape(*mixed.shape[:2], WIDTH)


def reply_all(params, ids, at):
    """Logits of the word after the first ``at``, from all of them."""
    x = params["look"][ids] + params["place"]
    mask = jnp.tril(jnp.ones((LONGEST, LONGEST), bool))
    for p in params["layers"]:
        y = norm(x)
        x = x + linear(p["o"], attend(*(heads(linear(p[one], y)) for one in "qkv"), mask))
        x = x + linear(p["down"], jax.nn.gelu(linear(p["up"], norm(x))))
    logits = x @ params["look"].T
    return logits[:, at - 1], None  # planted


def reply_cached(params, ids, at, cache):
    """The same of the newest word alone, with the keys and values of the others."""
    x = (params["look"][jax.lax.dynamic_slice_in_dim(ids, at - 1, 1, 1)]
         + jax.lax.dynamic_slice_in_dim(params["place"], at - 1, 1, 0))  # fmt: skip
    mask = (jnp.arange(LONGEST) < at)[None, None, None]
    kept = []
    for p, (keys, values) in zip(params["layers"], cache):
        y = norm(x)
        q, k, v = (heads(linear(p[one], y)) for one in "qkv")
        keys = jax.lax.dynamic_update_slice_in_dim(keys, k, at - 1, 1)
        values = jax.lax.dynamic_update_slice_in_dim(values, v, at - 1, 1)
        kept.append((keys, values))
        x = x + linear(p["o"], attend(q, keys, values, mask))
        x = x + linear(p["down"], jax.nn.gelu(linear(p["up"], norm(x))))
    return (x @ params["look"].T)[:, 0], kept


def main(clock):
    clock.plan(2, 8)
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 64))

    def made(rows, columns):
        return {"w": jax.random.normal(next(keys), (rows, columns)) * 0.05, "b": jnp.zeros(columns)}

    params = {
        "look": jax.random.normal(next(keys), (WORDS, WIDTH)) * 0.05,
        "place": jax.random.normal(next(keys), (LONGEST, WIDTH)) * 0.05,
        "layers": [
            {**{one: made(WIDTH, WIDTH) for one in "qkvo"}, "up": made(WIDTH, 4 * WIDTH), "down": made(4 * WIDTH, WIDTH)}
            for _ in range(LAYERS)
        ],
    }
    reply = jax.jit(reply_cached if clock.fixed else reply_all)
    empty = [(jnp.zeros((4, LONGEST, HEADS, WIDTH // HEADS)),) * 2 for _ in range(LAYERS)]
    ids = np.random.default_rng(0).integers(0, WORDS, (4, LONGEST)).astype(np.int32)
    for step in clock.loop():
        with clock.mark(step):
            cache = empty
            for at in range(40, 40 + NEW):
                if clock.fixed:
                    logits, cache = reply(params, ids, at, cache)
                else:
                    logits, _ = reply(params, ids, at)
                ids[:, at] = np.asarray(jnp.argmax(logits, -1))


if __name__ == "__main__":
    run(main)
