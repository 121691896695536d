"""Trains a denoiser and keeps a moving average of its weights for sampling."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the moving average of the weights is a tree_map outside of jit: several dispatches for each of the leaves",
    "cause": "eager beside the compiled step",
    "accept": ["eager-execution", "launch-bound", "python-bound", "optimizer-per-variable", "tiny-kernels"],
    "rules": ["eager-execution", "launch-bound", "python-bound", "optimizer-per-variable", "tiny-kernels", "idle-device", "tiny-ops"],
    "words": ["follow", "Shadow", "tree_map", "mul", "multiply"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
WIDTH, DEPTH, BATCH, DIM = (1024, 3, 4096, 192) if GPU else (64, 3, 64, 48)


class Denoiser(nn.Module):
    @nn.compact
    def __call__(self, x, level):
        wave = level[:, None] * jnp.exp2(jnp.arange(16.0))
        condition = nn.Dense(WIDTH)(jnp.concatenate([jnp.sin(wave), jnp.cos(wave)], -1))
        h = nn.Dense(WIDTH)(x)
        for _ in range(DEPTH):
            y = nn.LayerNorm()(h + condition)
            h = h + nn.Dense(WIDTH, use_bias=False)(nn.silu(nn.Dense(WIDTH)(y)))
        return nn.Dense(DIM)(h)


model = Denoiser()
init = jax.jit(model.init)
adam = optax.adam(2e-4)


@jax.jit
def train_step(params, state, key, x):
    key, a, b = jax.random.split(key, 3)
    level, noise = jax.random.uniform(a, x.shape[:1]), jax.random.normal(b, x.shape)

    def loss_fn(params):
        noisy = jnp.cos(level)[:, None] * x + jnp.sin(level)[:, None] * noise
        return jnp.mean((model.apply(params, noisy, level) - noise) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, state = adam.update(grads, state)
    return optax.apply_updates(params, updates), state, key, loss


def moving(shadow, params, decay):
    return jax.tree_util.tree_map(lambda s, p: decay * s + (1 - decay) * p, shadow, params)


moving_compiled = jax.jit(moving)


class Shadow:
    def __init__(self, params, compiled):
        self.params = params
        self.blend = moving_compiled if compiled else moving

    def follow(self, params, step):
        decay = min(0.999, (1 + step) / (10 + step))
        self.params = self.blend(self.params, params, decay)  # planted


def main(clock):
    clock.plan(3, 3)
    key = jax.random.PRNGKey(0)
    x = jax.random.normal(key, (BATCH, DIM))
    params = init(key, x, x[:, 0])
    state = adam.init(params)
    shadow = Shadow(params, compiled=clock.fixed)
    for step in clock.loop(lambda: (params, shadow.params)):
        with clock.mark(step):
            params, state, key, loss = train_step(params, state, key, x)
            shadow.follow(params, step)


if __name__ == "__main__":
    run(main)
