import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "dropout draws a mask of all weights in each step, and not of the activations",
    "cause": "random numbers that nobody needs",
    "accept": [],
    "rules": [],
    "words": ["Random numbers", "dropped", "Draw fewer"],
    "part": "develop",
}
WIDTHS = (256, 768, 768, 32)


def dropped(key, x, rate=0.1):
    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0.0)


def forward(params, key, x, of_weights):
    for place, (weights, bias) in enumerate(params):
        mine = jax.random.fold_in(key, place)
        if of_weights:
            weights = dropped(mine, weights)  # planted
        x = x @ weights + bias
        if place < len(params) - 1:
            x = jax.nn.relu(x)
            x = x if of_weights else dropped(mine, x)
    return x


def main(clock):
    clock.plan(4, 12)
    keys = jax.random.split(jax.random.PRNGKey(3), len(WIDTHS) + 1)
    params = [
        (jax.random.normal(key, shape) * 0.04, jnp.zeros(shape[1]))
        for key, shape in zip(keys, zip(WIDTHS, WIDTHS[1:]))
    ]
    x = jax.random.normal(keys[-1], (24, WIDTHS[0]))
    y = jax.random.normal(keys[-2], (24, WIDTHS[-1]))
    of_weights = not clock.fixed

    @jax.jit
    def train_step(params, key, x, y):
        def loss(params):
            return jnp.mean((forward(params, key, x, of_weights) - y) ** 2)

        value, grads = jax.value_and_grad(loss)(params)
        return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), value

    key = jax.random.PRNGKey(7)
    for step in clock.loop():
        with clock.mark(step):
            params, value = train_step(params, jax.random.fold_in(key, step), x, y)
            float(value)


if __name__ == "__main__":
    run(main)
