"""A wide net teaches a narrow one, both in one compiled step."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "healthy",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}

INPUTS, CLASSES, BATCH, TEMPERATURE = 384, 100, 512, 3.0


def init(key, widths):
    sizes = [INPUTS, *widths, CLASSES]
    keys = jax.random.split(key, len(sizes))
    return [(jax.random.normal(k, (a, b)) * (2 / a) ** 0.5, jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]


def logits(net, x):
    for w, b in net[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = net[-1]
    return x @ w + b


def distilled(student, teacher, x, y):
    soft = jax.nn.softmax(logits(teacher, x) / TEMPERATURE)
    mine = logits(student, x)
    hard = -jnp.take_along_axis(jax.nn.log_softmax(mine), y[:, None], 1).mean()
    return 0.3 * hard - 0.7 * TEMPERATURE**2 * jnp.mean(jnp.sum(soft * jax.nn.log_softmax(mine / TEMPERATURE), -1))


@jax.jit
def step_fn(student, teacher, velocity, x, y):
    loss, g = jax.value_and_grad(distilled)(student, teacher, x, y)
    velocity = jax.tree_util.tree_map(lambda v, d: 0.9 * v + d, velocity, g)
    return jax.tree_util.tree_map(lambda p, v: p - 0.01 * v, student, velocity), velocity, loss


def main(clock):
    clock.plan(4, 5)
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.standard_normal((8, BATCH, INPUTS)), jnp.float32)
    y = jnp.asarray(rng.integers(0, CLASSES, (8, BATCH)))
    data = [(x[i], y[i]) for i in range(8)]
    teacher, student = init(jax.random.PRNGKey(1), (1024, 1024)), init(jax.random.PRNGKey(2), (512, 384))
    velocity = jax.tree_util.tree_map(jnp.zeros_like, student)
    loss = jnp.zeros(())
    for step in clock.loop(lambda: loss):
        with clock.mark(step, "distil"):
            student, velocity, loss = step_fn(student, teacher, velocity, *data[step % 8])


if __name__ == "__main__":
    run(main)
