import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "linear attention multiplies queries by keys first, which makes a matrix of length by length",
    "cause": "products in the wrong order",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["linear_attention", "bhqd,bhkd->bhqk", "bhqk"],
    "part": "develop",
}


def features(x):
    return jax.nn.elu(x) + 1


def linear_attention(q, k, v):
    q, k = features(q), features(k)
    weights = jnp.einsum("bhqd,bhkd->bhqk", q, k)  # planted
    return jnp.einsum("bhqk,bhkd->bhqd", weights, v) / weights.sum(-1, keepdims=True)  # planted


def linear_attention_associated(q, k, v):
    q, k = features(q), features(k)
    memory = jnp.einsum("bhkd,bhke->bhde", k, v)
    norm = jnp.einsum("bhqd,bhd->bhq", q, k.sum(2))
    return jnp.einsum("bhqd,bhde->bhqe", q, memory) / norm[..., None]


def block(params, x, attend):
    batch, length, width = x.shape
    q, k, v = (jnp.moveaxis((x @ params[name]).reshape(batch, length, 4, width // 4), 2, 1) for name in "qkv")
    mixed = jnp.moveaxis(attend(q, k, v), 1, 2).reshape(batch, length, width)
    x = x + mixed @ params["o"]
    return x + jax.nn.gelu(x @ params["up"]) @ params["down"]


def init(key, width=128):
    shapes = {name: (width, width) for name in "qkvo"} | {"up": (width, 4 * width), "down": (4 * width, width)}
    keys = jax.random.split(key, len(shapes))
    return {name: 0.05 * jax.random.normal(key, shape) for key, (name, shape) in zip(keys, shapes.items())}


def main(clock):
    clock.plan(3, 6)
    attend = linear_attention_associated if clock.fixed else linear_attention
    params = [init(key) for key in jax.random.split(jax.random.PRNGKey(0), 2)]
    x = jax.random.normal(jax.random.PRNGKey(1), (2, 640, 128))

    @jax.jit
    def train_step(params, x):
        def loss(params):
            h = x
            for layer in params:
                h = block(layer, h, attend)
            return jnp.mean((h - jnp.roll(x, -1, 1)) ** 2)

        value, grads = jax.value_and_grad(loss)(params)
        return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), value

    value = jnp.zeros(())
    for step in clock.loop(lambda: value):
        with clock.mark(step):
            params, value = train_step(params, x)
            value.block_until_ready()


if __name__ == "__main__":
    run(main)
