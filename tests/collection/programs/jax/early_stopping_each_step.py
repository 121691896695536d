import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "early stopping evaluates the whole validation set after every step",
    "cause": "validation too often",
    "accept": ["python-bound", "dominant-op"],
    "rules": ["dominant-op", "host-waits", "python-bound", "print-every-step", "idle-device"],
    "words": ["EarlyStopping", "validation_loss", "should_stop"],
    "part": "develop",
}


def predict(params, x):
    hidden = jax.nn.gelu(x @ params["a"])
    hidden = jax.nn.gelu(hidden @ params["b"])
    return (hidden @ params["c"])[:, 0]


@jax.jit
def validation_loss(params, x, y):
    return jnp.mean((predict(params, x) - y) ** 2)


@jax.jit
def train_step(params, momentum, x, y):
    grads = jax.grad(lambda p: jnp.mean((predict(p, x) - y) ** 2))(params)
    momentum = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, momentum, grads)
    return jax.tree_util.tree_map(lambda p, m: p - 0.01 * m, params, momentum), momentum


class EarlyStopping:
    def __init__(self, x, y, patience, every):
        self.x, self.y, self.patience, self.every = x, y, patience, every
        self.best, self.bad, self.calls = float("inf"), 0, 0

    def should_stop(self, params):
        self.calls += 1
        if self.calls % self.every:
            return False
        loss = float(validation_loss(params, self.x, self.y))  # planted
        self.bad = 0 if loss < self.best else self.bad + 1
        self.best = min(self.best, loss)
        return self.bad > self.patience


def main(clock):
    clock.plan(3, 8)
    keys = jax.random.split(jax.random.PRNGKey(0), 7)
    params = {
        "a": 0.1 * jax.random.normal(keys[0], (64, 256)),
        "b": 0.05 * jax.random.normal(keys[1], (256, 256)),
        "c": 0.05 * jax.random.normal(keys[2], (256, 1)),
    }
    momentum = jax.tree_util.tree_map(jnp.zeros_like, params)
    x, y = jax.random.normal(keys[3], (512, 64)), jax.random.normal(keys[4], (512,))
    stopping = EarlyStopping(
        jax.random.normal(keys[5], (2500, 64)), jax.random.normal(keys[6], (2500,)), 10**9, every=500 if clock.fixed else 1
    )
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, momentum = train_step(params, momentum, x, y)
            jax.block_until_ready(params)
            if stopping.should_stop(params):
                break


if __name__ == "__main__":
    run(main)
