import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each neuron's weights are an array of their own: thousands of arguments a call",
    "cause": "many small arguments",
    "accept": ["python-bound", "tiny-ops"],
    "rules": ["python-bound", "tiny-ops", "launch-bound", "tiny-kernels"],
    "words": ["init_neurons", "train_neurons"],
    "part": "develop",
}


def init_neurons(key, fan_in, fan_out):
    keys = jax.random.split(key, fan_out)
    return [jax.random.normal(k, (fan_in,)) / fan_in**0.5 for k in keys]  # planted


def predict(layers, x):
    for layer in layers:
        w = jnp.stack(layer, 1) if isinstance(layer, list) else layer
        x = jnp.tanh(x @ w)
    return x


@jax.jit
def update(layers, x):
    grads = jax.grad(lambda layers: jnp.mean((predict(layers, x) - 1) ** 2))(layers)
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, layers, grads)


def train_neurons(layers, x):
    return update(layers, x)  # planted


def main(clock):
    clock.plan(2, 3)
    key = jax.random.PRNGKey(0)
    layers = [init_neurons(key, 64, 300), init_neurons(key, 300, 150)]
    if clock.fixed:
        layers = [jnp.stack(layer, 1) for layer in layers]
    x = jnp.ones((64, 64))
    for step in clock.loop(lambda: layers):
        with clock.mark(step):
            layers = update(layers, x) if clock.fixed else train_neurons(layers, x)
            jax.block_until_ready(layers)


if __name__ == "__main__":
    run(main)
