import sys
from pathlib import Path

import jax
import jax.numpy as jnp

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

DIM, HIDDEN, LAYERS = 64, 384, 6


def init_coupling(key):
    keys = jax.random.split(key, 3)
    half = DIM // 2
    return {
        "w1": jax.random.normal(keys[0], (half, HIDDEN)) * half**-0.5,
        "w2": jax.random.normal(keys[1], (HIDDEN, HIDDEN)) * HIDDEN**-0.5,
        "w3": jax.random.normal(keys[2], (HIDDEN, 2 * half)) * 0.01,
    }


def coupling(params, x, flip):
    kept, changed = jnp.split(x, 2, axis=1)[:: -1 if flip else 1]
    hidden = jax.nn.relu(jax.nn.relu(kept @ params["w1"]) @ params["w2"])
    log_scale, shift = jnp.split(hidden @ params["w3"], 2, axis=1)
    log_scale = jnp.tanh(log_scale)
    changed = changed * jnp.exp(log_scale) + shift
    halves = (changed, kept) if flip else (kept, changed)
    return jnp.concatenate(halves, axis=1), log_scale.sum(1)


def negative_log_likelihood(params, x):
    log_det = 0.0
    for i, layer in enumerate(params):
        x, change = coupling(layer, x, flip=i % 2 == 1)
        log_det = log_det + change
    prior = -0.5 * jnp.sum(x**2, 1) - 0.5 * DIM * jnp.log(2 * jnp.pi)
    return -jnp.mean(prior + log_det)


@jax.jit
def train_step(params, momentum, batch):
    loss, grads = jax.value_and_grad(negative_log_likelihood)(params, batch)
    momentum = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, momentum, grads)
    params = jax.tree_util.tree_map(lambda p, m: p - 1e-3 * m, params, momentum)
    return params, momentum, loss


def main(clock):
    clock.plan(3, 4)
    params = [init_coupling(k) for k in jax.random.split(jax.random.PRNGKey(0), LAYERS)]
    momentum = jax.tree_util.tree_map(jnp.zeros_like, params)
    data = jax.random.normal(jax.random.PRNGKey(1), (8, 1024, DIM))
    batches = [jnp.tanh(rows) for rows in data]
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, momentum, loss = train_step(params, momentum, batches[step % 8])
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
