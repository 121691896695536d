"""Fine-tunes the head of a frozen trunk of features for house prices."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "clipping comes before the split of trained and frozen weights: its norm asks for the gradients of the frozen trunk",
    "cause": "results computed and thrown away",
    "accept": ["largest-part", "unused-gradients", "dominant-op"],
    "rules": ["unused-gradients"],
    "words": ["optimizer", "clip_by_global_norm", "global_norm", "trunk"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
WIDTH, DEPTH, BATCH, FEATURES = (2048, 5, 8192, 512) if GPU else (96, 5, 128, 48)


class Trunk(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Dense(WIDTH)(x)
        for _ in range(DEPTH):
            x = x + nn.Dense(WIDTH)(nn.silu(nn.Dense(WIDTH)(x)))
        return x


class Priced(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = Trunk(name="trunk")(x)
        x = nn.relu(nn.Dense(256, name="hidden")(x))
        return nn.Dense(1, name="price")(x)[:, 0]


model = Priced()
init = jax.jit(model.init)


def kinds(params):
    return {"params": {name: "frozen" if name == "trunk" else "trained" for name in params["params"]}}


def optimizer(clip_trained):
    frozen = optax.set_to_zero()
    if clip_trained:
        return optax.multi_transform({"trained": optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3)), "frozen": frozen}, kinds)
    split = optax.multi_transform({"trained": optax.adam(1e-3), "frozen": frozen}, kinds)
    return optax.chain(optax.clip_by_global_norm(1.0), split)  # planted


@partial(jax.jit, static_argnames="clip_trained")
def tune(params, state, x, y, clip_trained):
    def loss_fn(params):
        return jnp.mean(optax.huber_loss(model.apply(params, x), y))

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, state = optimizer(clip_trained).update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


def main(clock):
    clock.plan(3, 5)
    key = jax.random.PRNGKey(0)
    x, y = jax.random.normal(key, (BATCH, FEATURES)), jax.random.normal(key, (BATCH,))
    params = init(key, x)
    state = optimizer(clock.fixed).init(params)
    for step in clock.loop(lambda: params):
        with clock.mark(step, "tune"):
            params, state, loss = tune(params, state, x, y, clip_trained=clock.fixed)


if __name__ == "__main__":
    run(main)
