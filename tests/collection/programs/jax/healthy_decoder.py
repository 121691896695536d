import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

WIDTH, HEADS, VOCABULARY = 256, 8, 2000


def norm(x):
    return x / jnp.sqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6)


def attention(p, x, mask):
    b, n, d = x.shape
    q, k, v = jnp.split((norm(x) @ p["qkv"]).reshape(b, n, HEADS, 3 * d // HEADS), 3, -1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (d // HEADS) ** -0.5
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(b, n, d) @ p["out"]


def logits(params, tokens, mask):
    x = params["embed"][tokens]

    def layer(x, p):
        x = x + attention(p, x, mask)
        return x + jax.nn.silu(norm(x) @ p["up"]) @ p["down"], None

    x, _ = jax.lax.scan(layer, x, params["layers"])
    return norm(x) @ params["embed"].T


@jax.jit
def train_step(params, moments, tokens):
    mask = jnp.tril(jnp.ones((tokens.shape[1] - 1,) * 2, bool))

    def loss(params):
        log_probability = jax.nn.log_softmax(logits(params, tokens[:, :-1], mask))
        return -jnp.mean(jnp.take_along_axis(log_probability, tokens[:, 1:, None], -1))

    value, grads = jax.value_and_grad(loss)(params)
    moments = jax.tree_util.tree_map(lambda m, g: 0.9 * m + 0.1 * g, moments, grads)
    return jax.tree_util.tree_map(lambda p, m: p - 1e-3 * jnp.sign(m), params, moments), moments, value


def main(clock):
    clock.plan(3, 6)
    keys = jax.random.split(jax.random.PRNGKey(0), 6)
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 2 * WIDTH), "down": (2 * WIDTH, WIDTH)}
    layers = {name: 0.03 * jax.random.normal(k, (3, *shape)) for k, (name, shape) in zip(keys, shapes.items())}
    params = {"embed": 0.03 * jax.random.normal(keys[4], (VOCABULARY, WIDTH)), "layers": layers}
    moments = jax.tree_util.tree_map(jnp.zeros_like, params)
    tokens = jax.random.randint(keys[5], (8, 65), 0, VOCABULARY)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, moments, loss = train_step(params, moments, tokens)


if __name__ == "__main__":
    run(main)
