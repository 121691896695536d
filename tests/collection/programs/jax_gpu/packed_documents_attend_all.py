"""A language model on packed rows: sixteen documents of one length lie in each row."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "scores between all positions of a packed row are computed, and those between two documents are masked away",
    "cause": "results computed and thrown away",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["segment_attention", "bhqk", "softmax"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
ROWS, DOCUMENTS, LENGTH, WIDTH, HEADS, LAYERS = (2, 16, 256, 768, 12, 2) if GPU else (1, 8, 32, 64, 4, 2)
VOCABULARY = 8192 if GPU else 256


def rms(x, g):
    return (x * jax.lax.rsqrt(jnp.mean(jnp.square(x.astype(jnp.float32)), -1, keepdims=True) + 1e-6)).astype(x.dtype) * g


def segment_attention(q, k, v, segments, positions):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5  # planted
    same = segments[:, :, None] == segments[:, None, :]  # planted
    past = positions[:, :, None] >= positions[:, None, :]
    scores = jnp.where((same & past)[:, None], scores.astype(jnp.float32), -1e9)  # planted
    weights = jax.nn.softmax(scores).astype(v.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def by_document(x):
    return x.reshape(ROWS * DOCUMENTS, LENGTH, *x.shape[2:])


def block(x, p, segments, positions, split):
    b, t, _ = x.shape
    q, k, v = jnp.split((rms(x, p["g1"]) @ p["qkv"]).reshape(b, t, HEADS, -1), 3, -1)
    if split:
        arrays = [by_document(a) for a in (q, k, v, segments, positions)]
        mixed = segment_attention(*arrays)
    else:
        mixed = segment_attention(q, k, v, segments, positions)
    x = x + mixed.reshape(b, t, WIDTH) @ p["out"]
    return x + jax.nn.silu(rms(x, p["g2"]) @ p["up"]) @ p["down"]


@partial(jax.jit, static_argnames="split", donate_argnames="params")
def update(params, tokens, segments, positions, split):
    def loss_fn(params):
        p = jax.tree.map(lambda a: a.astype(jnp.bfloat16), params)
        x = p["embed"][tokens]
        x, _ = jax.lax.scan(lambda x, layer: (block(x, layer, segments, positions, split), None), x, p["layers"])
        logits = (x[:, :-1] @ p["embed"].T).astype(jnp.float32)
        chosen = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - chosen)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads), loss


def main(clock):
    clock.plan(3, 5)
    keys = jax.random.split(jax.random.PRNGKey(0), 6)
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    layers = {n: 0.02 * jax.random.normal(k, (LAYERS, *s)) for k, (n, s) in zip(keys, shapes.items())}
    layers |= {"g1": jnp.ones((LAYERS, WIDTH)), "g2": jnp.ones((LAYERS, WIDTH))}
    params = {"embed": 0.02 * jax.random.normal(keys[4], (VOCABULARY, WIDTH)), "layers": layers}
    tokens = jax.random.randint(keys[5], (ROWS, DOCUMENTS * LENGTH), 0, VOCABULARY)
    segments = jnp.tile(jnp.repeat(jnp.arange(DOCUMENTS), LENGTH), (ROWS, 1))
    positions = jnp.tile(jnp.arange(LENGTH), (ROWS, DOCUMENTS))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = update(params, tokens, segments, positions, split=clock.fixed)


if __name__ == "__main__":
    run(main)
