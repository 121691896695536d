"""BERT in small: masked words, batches put on the device one ahead."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

WORDS, WIDTH, HEADS, LENGTH, BATCH, DEPTH, MASKED = 2000, 96, 4, 48, 8, 2, 7


def attend(layer, x):
    q, k, v = jnp.split(x @ layer["qkv"], 3, -1)
    split = lambda a: a.reshape(*a.shape[:2], HEADS, -1)
    return jax.nn.dot_product_attention(split(q), split(k), split(v)).reshape(x.shape) @ layer["out"]


def norm(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)


def loss_fn(params, tokens, places, answers):
    x = params["words"][tokens] + params["places"]
    for layer in params["layers"]:
        x = x + attend(layer, norm(x))
        x = x + jax.nn.gelu(norm(x) @ layer["up"]) @ layer["down"]
    masked = jnp.take_along_axis(x, places[..., None], 1)
    logits = jax.nn.log_softmax(norm(masked) @ params["words"].T)
    return -jnp.take_along_axis(logits, answers[..., None], -1).mean()


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(params, momentum, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, *batch)
    momentum = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, momentum, grads)
    return jax.tree_util.tree_map(lambda p, m: p - 1e-3 * m, params, momentum), momentum, loss


def init(key):
    keys = iter(jax.random.split(key, 4 * DEPTH + 2))
    normal = lambda a, b: 0.05 * jax.random.normal(next(keys), (a, b))
    layers = [{"qkv": normal(WIDTH, 3 * WIDTH), "out": normal(WIDTH, WIDTH), "up": normal(WIDTH, 4 * WIDTH), "down": normal(4 * WIDTH, WIDTH)} for _ in range(DEPTH)]
    return {"words": normal(WORDS, WIDTH), "places": normal(LENGTH, WIDTH), "layers": layers}


def batches(text):
    rng = np.random.default_rng(1)
    while True:
        tokens = text[rng.integers(0, len(text), BATCH)]
        places = rng.integers(0, LENGTH, (BATCH, MASKED))
        answers = np.take_along_axis(tokens, places, 1)
        np.put_along_axis(tokens, places, 0, 1)
        yield jax.device_put((tokens, places, answers))


def main(clock):
    clock.plan(5, 2)
    text = np.random.default_rng(0).integers(1, WORDS, (500, LENGTH), dtype="int32")
    params = init(jax.random.PRNGKey(0))
    momentum = jax.tree_util.tree_map(jnp.zeros_like, params)
    data = batches(text)
    batch = next(data)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, momentum, loss = train_step(params, momentum, batch)
            batch = next(data)


if __name__ == "__main__":
    run(main)
