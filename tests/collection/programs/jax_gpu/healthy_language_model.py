"""Pretrains a small decoder in bfloat16; the next batch goes to the device during a step."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

GPU = jax.default_backend() == "gpu"
ROWS, TIME, WIDTH, HEADS, LAYERS, VOCABULARY = (16, 512, 768, 12, 6, 16384) if GPU else (4, 64, 64, 4, 2, 512)

adamw = optax.adamw(3e-4, b2=0.95, weight_decay=0.1)


def norm(x, gain):
    x32 = x.astype(jnp.float32)
    return (x32 * jax.lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-6)).astype(x.dtype) * gain


def layer(x, p):
    b, t, _ = x.shape
    q, k, v = jnp.split((norm(x, p["g1"]) @ p["qkv"]).reshape(b, t, HEADS, -1), 3, -1)
    mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + mixed.reshape(b, t, WIDTH) @ p["out"]
    gate, up = jnp.split(norm(x, p["g2"]) @ p["up"], 2, -1)
    return x + (jax.nn.silu(gate) * up) @ p["down"]


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(params, state, tokens):
    def loss_fn(params):
        p = jax.tree.map(lambda a: a.astype(jnp.bfloat16), params)
        x, _ = jax.lax.scan(lambda x, q: (layer(x, q), None), p["embed"][tokens[:, :-1]], p["layers"])
        logits = (norm(x, p["g"]) @ p["embed"].T).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, state = adamw.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


@jax.jit
def init(key):
    keys = iter(jax.random.split(key, 5))
    draw = lambda *shape: 0.02 * jax.random.normal(next(keys), shape)
    params = {
        "embed": draw(VOCABULARY, WIDTH),
        "g": jnp.ones(WIDTH),
        "layers": {
            "qkv": draw(LAYERS, WIDTH, 3 * WIDTH),
            "out": draw(LAYERS, WIDTH, WIDTH),
            "up": draw(LAYERS, WIDTH, 4 * WIDTH),
            "down": draw(LAYERS, 2 * WIDTH, WIDTH),
            "g1": jnp.ones((LAYERS, WIDTH)),
            "g2": jnp.ones((LAYERS, WIDTH)),
        },
    }
    return params, adamw.init(params)


def batches(rng):
    corpus = rng.integers(0, VOCABULARY, 2_000_000, dtype=np.int32)
    while True:
        at = rng.integers(0, len(corpus) - TIME - 1, ROWS)
        yield jax.device_put(np.stack([corpus[i : i + TIME + 1] for i in at]))


def main(clock):
    clock.plan(4, 5)
    params, state = init(jax.random.PRNGKey(0))
    source = batches(np.random.default_rng(0))
    tokens, losses = next(source), []
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, state, loss = train_step(params, state, tokens)
            tokens = next(source)
            losses.append(loss)
    print(step, float(losses[-1]))


if __name__ == "__main__":
    run(main)
