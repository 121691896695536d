"""Labels for residues: a gated convolutional net with weight decay, parameters in a tree."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "score"}

LETTERS, LENGTH, WIDTH, LABELS, BATCH, DEPTH = 22, 200, 96, 8, 8, 4


def init(rng):
    draw = lambda *shape: jnp.asarray(rng.normal(size=shape) * np.prod(shape[:-1]) ** -0.5, jnp.float32)
    blocks = [{"kernel": draw(7, WIDTH, 2 * WIDTH), "bias": jnp.zeros(2 * WIDTH)} for _ in range(DEPTH)]
    return {"embed": draw(LETTERS, WIDTH), "blocks": blocks, "out": draw(WIDTH, LABELS)}


def forward(params, letters):
    x = params["embed"][letters]
    for block in params["blocks"]:
        h = jax.lax.conv_general_dilated(x, block["kernel"], (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
        a, b = jnp.split(h + block["bias"], 2, -1)
        x = x + a * jax.nn.sigmoid(b)
    return x @ params["out"]


def loss_fn(params, letters, labels, known):
    logp = jax.nn.log_softmax(forward(params, letters))
    nll = -jnp.take_along_axis(logp, labels[..., None], -1)[..., 0]
    return (nll * known).sum() / known.sum()


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(params, velocity, letters, labels, known):
    loss, grads = jax.value_and_grad(loss_fn)(params, letters, labels, known)
    velocity = jax.tree_util.tree_map(lambda v, g, p: 0.9 * v + g + 1e-4 * p, velocity, grads, params)
    return jax.tree_util.tree_map(lambda p, v: p - 0.05 * v, params, velocity), velocity, loss


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    params = init(rng)
    velocity = jax.tree_util.tree_map(jnp.zeros_like, params)
    letters, labels = rng.integers(0, LETTERS, (256, LENGTH)), rng.integers(0, LABELS, (256, LENGTH))
    known = (rng.random((256, LENGTH)) < 0.9).astype(np.float32)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            at = rng.integers(0, 256, BATCH)
            params, velocity, loss = train_step(params, velocity, letters[at], labels[at], known[at])
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
