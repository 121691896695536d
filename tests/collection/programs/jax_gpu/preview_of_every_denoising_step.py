"""Samples pictures with a small diffusion mixer: eight iterations in one compiled call."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a callback of the sampling loop hands all pictures of each iteration to the host for a preview that nobody opens",
    "cause": "host callbacks",
    "accept": ["print-every-step", "host-copies", "python-bound", "idle-device", "host-waits"],
    "rules": ["print-every-step", "host-copies"],
    "words": ["show", "callback", "Preview", "denoise"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
PICTURES, PATCHES, WIDTH, BLOCKS = (128, 256, 512, 2) if GPU else (8, 64, 64, 2)
ITERATIONS, PIXELS = 8, 48


class Preview:
    def __init__(self):
        self.newest, self.at = None, -1

    def show(self, at, pictures):
        shown = np.asarray(pictures)
        self.newest = np.uint8(255 * np.clip(0.5 + 0.5 * shown[:16], 0, 1))
        self.at = int(at)


preview = Preview()


def mixer(params, x, level):
    h = x @ params["in"] + params["level"] * level
    for p in params["blocks"]:
        h = h + jnp.einsum("bpw,pq->bqw", jnp.tanh(h), p["over"])
        h = h + jax.nn.gelu(h @ p["up"]) @ p["down"]
    return h @ params["out"]


@partial(jax.jit, static_argnames="watched")
def denoise(params, key, x, watched):
    def iterate(x, at):
        level = 1.0 - at / ITERATIONS
        noise = mixer(params, x, level)
        x = x - noise / ITERATIONS + 0.02 * level * jax.random.normal(jax.random.fold_in(key, at), x.shape)
        if watched:
            jax.debug.callback(preview.show, at, x)  # planted
        return x, None

    x, _ = jax.lax.scan(iterate, x, jnp.arange(ITERATIONS))
    return x


def build(key):
    keys = jax.random.split(key, 3 * BLOCKS + 3)
    draw = lambda k, a, b: jax.random.normal(k, (a, b)) * 0.5 * a**-0.5
    blocks = []
    for i in range(BLOCKS):
        a, b, c = keys[3 * i : 3 * i + 3]
        blocks.append({"over": draw(a, PATCHES, PATCHES), "up": draw(b, WIDTH, 2 * WIDTH), "down": draw(c, 2 * WIDTH, WIDTH)})
    return {"blocks": blocks, "in": draw(keys[-1], PIXELS, WIDTH), "out": draw(keys[-2], WIDTH, PIXELS), "level": jnp.ones(WIDTH)}


def main(clock):
    clock.plan(3, 3)
    params = build(jax.random.PRNGKey(0))
    key = jax.random.PRNGKey(1)
    pictures = jnp.zeros((PICTURES, PATCHES, PIXELS))
    for step in clock.loop(lambda: pictures):
        with clock.mark(step, "sample"):
            pictures = denoise(params, jax.random.fold_in(key, step), pictures, watched=not clock.fixed)


if __name__ == "__main__":
    run(main)
