import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def init(key, sizes):
    keys = jax.random.split(key, len(sizes))
    return [(jax.random.normal(k, (a, b)) / a**0.5, jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]


def mlp(layers, x):
    for w, b in layers[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = layers[-1]
    return x @ w + b


@jax.jit
def update(params, key, x):
    def loss(params):
        mean, spread = jnp.split(mlp(params[0], x), 2, -1)
        z = mean + jnp.exp(0.5 * spread) * jax.random.normal(key, mean.shape)
        logits = mlp(params[1], z)
        rebuilt = jnp.sum(jnp.logaddexp(0.0, logits) - x * logits, -1)
        return jnp.mean(rebuilt - 0.5 * jnp.sum(1 + spread - mean**2 - jnp.exp(spread), -1))

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 1e-3 * g, params, grads), value


def main(clock):
    clock.plan(3, 8)
    key = jax.random.PRNGKey(0)
    params = (init(key, [784, 512, 256, 64]), init(key, [32, 256, 512, 784]))
    x = jax.random.uniform(key, (512, 784))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, value = update(params, jax.random.fold_in(key, step), x)
            jax.block_until_ready(value)


if __name__ == "__main__":
    run(main)
