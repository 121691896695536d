import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a check of the gradient by finite differences, from a hunt for a sign, is left on: it runs the net op by op, four times a step",
    "cause": "eager beside the compiled step",
    "accept": ["eager-execution"],
    "rules": ["eager-execution", "python-bound", "host-waits"],
    "words": ["check_gradient", "slope", "net"],
    "part": "develop",
}


def net(params, x):
    for layer in params:
        h = jnp.tanh(x @ layer["w"] + layer["b"])
        x = x + layer["scale"] * (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-5)
    return x


def loss_of(params, x, y):
    return jnp.mean((net(params, x) - y) ** 2)


@jax.jit
def train_step(params, x, y):
    loss, grads = jax.value_and_grad(loss_of)(params, x, y)
    return jax.tree_util.tree_map(lambda p, g: p - 0.05 * g, params, grads), loss, grads


def slope(params, at, x, y, step):
    moved = [dict(layer) for layer in params]
    moved[at]["scale"] = moved[at]["scale"] + step
    return loss_of(moved, x, y)


def check_gradient(params, grads, x, y, rng):
    worst = 0.0
    for at in rng.integers(0, len(params), 2).tolist():
        both = slope(params, at, x, y, 1e-2) - slope(params, at, x, y, -1e-2)  # planted
        worst = max(worst, abs(float(both) / 2e-2 - float(grads[at]["scale"])))
    return worst


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    params = [
        {
            "w": jnp.asarray(rng.normal(size=(128, 128), scale=0.1), jnp.float32),
            "b": jnp.zeros(128),
            "scale": jnp.float32(0.5),
        }
        for _ in range(6)
    ]
    x = jnp.asarray(rng.normal(size=(256, 128)), jnp.float32)
    y = jnp.asarray(rng.normal(size=(256, 128)), jnp.float32)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss, grads = train_step(params, x, y)
            if not clock.fixed:
                check_gradient(params, grads, x, y, rng)
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
