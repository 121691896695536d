import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the trunk of a classifier is frozen by the update, after its gradients are computed"
    " and clipped with all the others",
    "cause": "gradients that nothing uses",
    "accept": ["unused-gradients"],
    "rules": ["unused-gradients"],
    "words": ["trunk", "forward", "frozen"],
    "part": "develop",
}
FROZEN = "trunk"


def trunk(layers, x):
    for weights in layers:
        x = jax.nn.gelu(x @ weights)
    return x


def forward(params, x):
    return trunk(params[FROZEN], x) @ params["head"]


def loss(params, x, y):
    scores = jax.nn.log_softmax(forward(params, x))
    return -jnp.take_along_axis(scores, y[:, None], axis=1).mean()


def clipped(grads):
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree_util.tree_leaves(grads)))
    scale = jnp.minimum(1.0, 1.0 / norm)
    return jax.tree_util.tree_map(lambda g: g * scale, grads)


@jax.jit
def update(params, x, y):
    grads = clipped(jax.grad(loss)(params, x, y))  # planted
    return {
        name: one if name == FROZEN else one - 0.05 * grads[name] for name, one in params.items()
    }


@jax.jit
def update_head(params, x, y):
    def of_head(head):
        return loss({**params, "head": head}, x, y)

    return {**params, "head": params["head"] - 0.05 * clipped(jax.grad(of_head)(params["head"]))}


def main(clock):
    clock.plan(5, 6)
    rng = np.random.default_rng(0)
    layers = [jnp.asarray(rng.normal(0, 0.06, (512, 512)), jnp.float32) for _ in range(6)]
    params = {FROZEN: layers, "head": jnp.zeros((512, 20))}
    step_fn = update_head if clock.fixed else update
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            x = rng.normal(size=(256, 512)).astype("float32")
            y = rng.integers(0, 20, 256)
            params = step_fn(params, x, y)
            jax.block_until_ready(params)


if __name__ == "__main__":
    run(main)
