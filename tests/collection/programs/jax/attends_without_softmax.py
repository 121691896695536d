import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "linear attention makes scores of all pairs of positions before it meets the values",
    "cause": "products in the dearer order",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["in the other order that takes"],
    "part": "develop",
}
BATCH, HEADS, LENGTH, SIZE = 2, 2, 1024, 16
WIDTH = HEADS * SIZE


def split(rows):
    batch, length, _width = rows.shape
    return rows.reshape(batch, length, HEADS, SIZE).transpose(0, 2, 1, 3)


def attention(layer, rows, is_fixed):
    queries, keys, values = (split(rows @ layer[name]) for name in ("q", "k", "v"))
    queries, keys = jax.nn.elu(queries) + 1, (jax.nn.elu(keys) + 1) / LENGTH
    if is_fixed:
        told = queries @ (keys.transpose(0, 1, 3, 2) @ values)
    else:
        told = (queries @ keys.transpose(0, 1, 3, 2)) @ values  # planted
    return told.transpose(0, 2, 1, 3).reshape(rows.shape) @ layer["o"]


def main(clock):
    clock.plan(4, 8)
    keys = iter(jax.random.split(jax.random.PRNGKey(3), 20))

    def weights(*shape):
        return jax.random.normal(next(keys), shape) / shape[0] ** 0.5

    layers = [
        {
            **{name: weights(WIDTH, WIDTH) for name in "qkvo"},
            "up": weights(WIDTH, 4 * WIDTH),
            "down": weights(4 * WIDTH, WIDTH),
        }
        for _ in range(1)
    ]
    signal = jax.random.normal(next(keys), (BATCH, LENGTH, WIDTH))
    is_fixed = clock.fixed

    @jax.jit
    def train_step(layers, signal):
        def loss(layers):
            rows = signal[:, :-1]
            rows = jnp.pad(rows, ((0, 0), (1, 0), (0, 0)))
            for layer in layers:
                rows = rows + attention(layer, rows, is_fixed)
                rows = rows + jax.nn.gelu(rows @ layer["up"]) @ layer["down"]
            return jnp.mean((rows - signal) ** 2)

        value, grads = jax.value_and_grad(loss)(layers)
        return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, layers, grads), value

    for step in clock.loop():
        with clock.mark(step):
            layers, value = train_step(layers, signal)
            float(value)


if __name__ == "__main__":
    run(main)
