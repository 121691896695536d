import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def block(w, x):
    q, k, v = jnp.split(x @ w["qkv"], 3, axis=-1)
    scores = jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / 11.3)
    x = x + (scores @ v) @ w["out"]
    return x + jax.nn.gelu(x @ w["up"]) @ w["down"]


def loss_fn(weights, x):
    h = x
    for w in weights:
        h = block(w, h)
    return jnp.mean((h - x) ** 2)


@jax.jit
def train_step(weights, x):
    loss, grads = jax.value_and_grad(loss_fn)(weights, x)
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, weights, grads), loss


def main(clock):
    clock.plan(3, 8)
    d = 128
    shapes = {"qkv": (d, 3 * d), "out": (d, d), "up": (d, 4 * d), "down": (4 * d, d)}
    key = jax.random.PRNGKey(2)
    weights = [{n: jax.random.normal(key, s) * 0.05 for n, s in shapes.items()} for _ in range(2)]
    x = jax.random.normal(key, (8, 64, d))
    for step in clock.loop(lambda: weights):
        with clock.mark(step):
            weights, loss = train_step(weights, x)


if __name__ == "__main__":
    run(main)
