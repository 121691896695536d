"""Gradients of twelve micro batches are summed before one update; a running loss for the log."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the loss of each micro batch is read as a float before the next micro batch is launched",
    "cause": "a wait for the device per micro batch",
    "accept": ["host-waits", "idle-device", "launch-bound", "python-bound", "host-copies"],
    "rules": ["host-waits", "idle-device", "launch-bound", "python-bound", "host-copies", "tiny-kernels"],
    "words": ["accumulate", "float(", "__float__"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
WIDTH, MICRO, BATCH = (1024, 12, 1024) if GPU else (128, 10, 64)


def forward(params, x):
    for w, b in params[:-1]:
        x = x + jax.nn.gelu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


@jax.jit
def micro_step(params, sums, x, y):
    def loss_fn(params):
        logits = jax.nn.log_softmax(forward(params, x))
        return -jnp.mean(jnp.take_along_axis(logits, y[:, None], 1))

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(jnp.add, sums, grads), loss


@jax.jit
def apply(params, sums):
    return jax.tree.map(lambda p, g: p - 1e-2 * g / MICRO, params, sums)


@jax.jit
def zeros_like(params):
    return jax.tree.map(jnp.zeros_like, params)


class Trainer:
    def __init__(self, params, read_at_end):
        self.params = params
        self.read_at_end = read_at_end
        self.history = []

    def accumulate(self, xs, ys):
        sums, losses = zeros_like(self.params), []
        for x, y in zip(xs, ys):
            sums, loss = micro_step(self.params, sums, x, y)
            losses.append(loss if self.read_at_end else float(loss))  # planted
        self.params = apply(self.params, sums)
        return losses

    def step(self, xs, ys):
        self.history.append(self.accumulate(xs, ys))


def main(clock):
    clock.plan(3, 4)
    keys = jax.random.split(jax.random.PRNGKey(0), 6)
    params = [(jax.random.normal(k, (WIDTH, WIDTH)) * WIDTH**-0.5, jnp.zeros(WIDTH)) for k in keys[:4]]
    params.append((jax.random.normal(keys[4], (WIDTH, 100)) * WIDTH**-0.5, jnp.zeros(100)))
    xs = list(jax.random.normal(keys[5], (MICRO, BATCH, WIDTH)))
    ys = list(jax.random.randint(keys[5], (MICRO, BATCH), 0, 100))
    trainer = Trainer(params, read_at_end=clock.fixed)
    for step in clock.loop(lambda: trainer.params):
        with clock.mark(step):
            trainer.step(xs, ys)
    print(sum(map(float, trainer.history[-1])) / MICRO)


if __name__ == "__main__":
    run(main)
