import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def loss_fn(params, x, y):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(x @ w + b) * y, axis=1))


@jax.jit
def update(params, x, y):
    grads = jax.grad(loss_fn)(params, x, y)
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)


def main(clock):
    clock.plan(3, 8)
    sizes = [784, 512, 512, 10]
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    params = [(jax.random.normal(k, (m, n)) * 0.05, jnp.zeros(n)) for k, m, n in zip(keys, sizes, sizes[1:])]
    x = jax.random.normal(keys[0], (512, 784))
    y = jax.nn.one_hot(jnp.arange(512) % 10, 10)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params = update(params, x, y)


if __name__ == "__main__":
    run(main)
