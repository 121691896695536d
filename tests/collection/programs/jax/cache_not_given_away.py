
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "keys and values of 2,048 positions are copied for each token: they are not donated",
    "cause": "copies",
    "accept": [],
    "rules": [],
    "words": ["donate", "copy"],
    "part": "develop",
}
LAYERS, HEADS, SIZE, LENGTH, NEAR = 3, 4, 48, 2048, 32


def layer(params, keys, values, position, x):
    q, k, v = (x @ params[name] for name in ("q", "k", "v"))
    keys = jax.lax.dynamic_update_slice(keys, k.reshape(1, HEADS, SIZE), (position, 0, 0))
    values = jax.lax.dynamic_update_slice(values, v.reshape(1, HEADS, SIZE), (position, 0, 0))
    begin = (jnp.maximum(position - NEAR + 1, 0), 0, 0)
    near = [jax.lax.dynamic_slice(one, begin, (NEAR, HEADS, SIZE)) for one in (keys, values)]
    weights = jax.nn.softmax(jnp.einsum("hs,nhs->hn", q.reshape(HEADS, SIZE), near[0]), axis=-1)
    x = x + jnp.einsum("hn,nhs->hs", weights, near[1]).reshape(-1) @ params["o"]
    return x + jax.nn.gelu(x @ params["up"]) @ params["down"], keys, values


def next_token(params, cache, position, token):
    x = params["embed"][token]
    after = []
    for of_layer, (keys, values) in zip(params["layers"], cache):
        x, keys, values = layer(of_layer, keys, values, position, x)
        after.append((keys, values))
    return jnp.argmax(x @ params["embed"].T), after


def main(clock):
    clock.plan(6, 14)
    width = HEADS * SIZE
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 1 + 6 * LAYERS))
    shapes = {"q": (width, width), "k": (width, width), "v": (width, width), "o": (width, width)}
    shapes |= {"up": (width, 2 * width), "down": (2 * width, width)}
    params = {
        "embed": jax.random.normal(next(keys), (600, width)) * 0.02,
        "layers": [
            {name: jax.random.normal(next(keys), shape) * 0.02 for name, shape in shapes.items()}
            for _ in range(LAYERS)
        ],
    }
    given = (1,) if clock.fixed else ()  # planted
    decode = jax.jit(next_token, donate_argnums=given)
    empty = jnp.zeros((LENGTH, HEADS, SIZE))
    cache, token = [(empty + 0, empty + 1) for _ in range(LAYERS)], 1
    for step in clock.loop():
        with clock.mark(step):
            token, cache = decode(params, cache, step, token)
            int(token)


if __name__ == "__main__":
    run(main)
