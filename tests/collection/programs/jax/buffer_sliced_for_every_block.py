"""Pre-trains a tiny language model of Python code; documents are packed into blocks."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "for each block the list of all tokens that are left is copied by a slice; a position would do",
    "cause": "input pipeline: copies that grow with the data",
    "accept": ["largest-part", "input-bound", "python-bound", "idle-device"],
    "rules": ["input-bound", "python-bound", "idle-device"],
    "words": ["next_block", "Packer", "next_batch"],
    "part": "score",
}

VOCABULARY, BLOCK, BATCH, WIDTH = 600, 64, 8, 128


class Packer:
    """Joins documents by an end token and cuts them into blocks."""

    def __init__(self, documents, by_position):
        self.buffer, self.at, self.by_position = [], 0, by_position
        for document in documents:
            self.buffer.extend(document)
            self.buffer.append(0)

    def next_block(self):
        if self.by_position:
            self.at += BLOCK
            return self.buffer[self.at - BLOCK : self.at + 1]
        block = self.buffer[: BLOCK + 1]
        self.buffer = self.buffer[BLOCK:]  # planted
        return block

    def next_batch(self):
        return jnp.asarray(np.array([self.next_block() for _ in range(BATCH)], np.int32))


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def gpt(params, tokens):
    x = params["embed"][tokens] + params["place"]
    mask = jnp.tril(jnp.ones((BLOCK, BLOCK), bool))
    for p in params["layers"]:
        q, k, v = jnp.split(layer_norm(x) @ p["qkv"], 3, -1)
        scores = jnp.where(mask, q @ k.swapaxes(1, 2) * WIDTH**-0.5, -1e9)
        x = x + jax.nn.softmax(scores) @ v @ p["out"]
        x = x + jax.nn.gelu(layer_norm(x) @ p["up"]) @ p["down"]
    return layer_norm(x) @ params["embed"].T


@jax.jit
def train_step(params, momentum, tokens):
    def loss_fn(params):
        logp = jax.nn.log_softmax(gpt(params, tokens[:, :-1]))
        return -jnp.take_along_axis(logp, tokens[:, 1:, None], 2).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    momentum = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, momentum, grads)
    params = jax.tree_util.tree_map(lambda p, m: p - 0.01 * m, params, momentum)
    return params, momentum, loss


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(2)
    documents = [rng.integers(1, VOCABULARY, 600).tolist() for _ in range(1200)]
    packer = Packer(documents, by_position=clock.fixed)
    draw = lambda *shape: jnp.asarray(rng.normal(0, 0.05, shape), jnp.float32)
    layers = [{"qkv": draw(WIDTH, 3 * WIDTH), "out": draw(WIDTH, WIDTH), "up": draw(WIDTH, 2 * WIDTH), "down": draw(2 * WIDTH, WIDTH)} for _ in range(2)]
    params = {"embed": draw(VOCABULARY, WIDTH), "place": draw(BLOCK, WIDTH), "layers": layers}
    momentum = jax.tree_util.tree_map(jnp.zeros_like, params)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, momentum, loss = train_step(params, momentum, packer.next_batch())
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
