"""A Performer on proteins: attention by random features, jitted train step."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the orthogonal random projections are drawn again, by QR, in every step; once in a thousand is meant",
    "cause": "upkeep in each step",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["orthogonal_features", "qr", "geqrf", "householder", "orgqr", "Householder"],
    "part": "score",
}

LETTERS, LENGTH, BATCH, HEADS, DIM, FEATURES, DEPTH = 25, 128, 2, 4, 48, 240, 3


def orthogonal_features(key):
    """Blocks of orthogonal rows for each head of each layer."""
    keys = jax.random.split(key, DEPTH * HEADS * (FEATURES // DIM))
    blocks = jax.vmap(lambda k: jnp.linalg.qr(jax.random.normal(k, (DIM, DIM)))[0])(keys)  # planted
    return jnp.sqrt(DIM) * blocks.reshape(DEPTH, HEADS, FEATURES, DIM)


def phi(x, w, stab):
    x = x * DIM**-0.25
    h = jnp.einsum("bhld,hfd->bhlf", x, w)
    return jnp.exp(h - (x**2).sum(-1, keepdims=True) / 2 - stab) + 1e-4


def attention(x, p, w):
    q, k, v = jnp.moveaxis((x @ p["qkv"]).reshape(*x.shape[:2], 3, HEADS, DIM), (2, 3), (0, 2))
    q, k = phi(q, w, 1.0), phi(k, w, 1.0)
    context = jnp.einsum("bhlf,bhld->bhfd", k, v)
    scale = 1 / jnp.einsum("bhlf,bhf->bhl", q, k.sum(2))
    out = jnp.einsum("bhlf,bhfd,bhl->blhd", q, context, scale)
    return out.reshape(*x.shape[:2], -1) @ p["out"]


def model(params, tokens, features):
    x = params["embed"][tokens]
    for p, w in zip(params["layers"], features):
        x = x + attention(x / (1e-5 + x.std(-1, keepdims=True)), p, w)
        x = x + jax.nn.gelu(x @ p["up"]) @ p["down"]
    return x @ params["embed"].T


def init(key):
    width = HEADS * DIM
    normal = lambda key, *shape: jax.random.normal(key, shape) * shape[0] ** -0.5
    layers = []
    for one in jax.random.split(key, DEPTH):
        a, b, c, d = jax.random.split(one, 4)
        layers.append({"qkv": normal(a, width, 3 * width), "out": normal(b, width, width), "up": normal(c, width, width), "down": normal(d, width, width)})
    return {"embed": 0.02 * jax.random.normal(key, (LETTERS, width)), "layers": layers}


@jax.jit
def update(params, tokens, features):
    def loss(params):
        logits = model(params, tokens[:, :-1], features)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1)
        return -chosen.mean()

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), value


def main(clock):
    clock.plan(2, 3)
    key = jax.random.PRNGKey(0)
    params, redraw = init(key), jax.jit(orthogonal_features)
    every = 1000 if clock.fixed else 1
    features = redraw(key)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            key, a, b = jax.random.split(key, 3)
            if step % every == 0:
                features = redraw(a)  # planted
            tokens = jax.random.randint(b, (BATCH, LENGTH), 0, LETTERS)
            params, value = update(params, tokens, features)
            value.block_until_ready()


if __name__ == "__main__":
    run(main)
