"""RealNVP by optax-free Adam: one compiled, donated step."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

DIM, HIDDEN, COUPLINGS, BATCH = 64, 512, 4, 1024


def init(key):
    layers = []
    for k in jax.random.split(key, COUPLINGS):
        a, b, c = jax.random.split(k, 3)
        layers.append(
            {
                "in": jax.random.normal(a, (DIM // 2, HIDDEN)) * (2 / DIM) ** 0.5,
                "mid": jax.random.normal(b, (HIDDEN, HIDDEN)) * (1 / HIDDEN) ** 0.5,
                "out": 1e-3 * jax.random.normal(c, (HIDDEN, DIM)),
            }
        )
    return layers


def log_likelihood(layers, x):
    total = 0.0
    a, b = jnp.split(x, 2, 1)
    for layer in layers:
        hidden = jax.nn.relu(jax.nn.relu(a @ layer["in"]) @ layer["mid"])
        scale, shift = jnp.split(hidden @ layer["out"], 2, 1)
        scale = jnp.tanh(scale)
        total = total + scale.sum(1)
        a, b = b * jnp.exp(scale) + shift, a
    z = jnp.concatenate([a, b], 1)
    return total - 0.5 * jnp.sum(z**2 + jnp.log(2 * jnp.pi), 1)


@partial(jax.jit, donate_argnums=(0, 1, 2))
def train_step(params, m, v, step, x):
    tree_map = jax.tree_util.tree_map
    loss, grads = jax.value_and_grad(lambda p: -jnp.mean(log_likelihood(p, x)))(params)
    m = tree_map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    v = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
    c1, c2 = 1 - 0.9 ** (step + 1), 1 - 0.999 ** (step + 1)
    params = tree_map(lambda p, m, v: p - 1e-4 * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), params, m, v)
    return params, m, v, loss


def main(clock):
    clock.plan(4, 3)
    params = init(jax.random.PRNGKey(0))
    m = jax.tree_util.tree_map(jnp.zeros_like, params)
    v = jax.tree_util.tree_map(jnp.zeros_like, params)
    data = jax.random.normal(jax.random.PRNGKey(1), (8, BATCH, DIM))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, m, v, loss = train_step(params, m, v, jnp.float32(step), data[step % 8])
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
