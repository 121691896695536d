"""Classifies satellite tiles: a small residual net, mixed precision, batches on the device."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

GPU = jax.default_backend() == "gpu"
BATCH, SIDE, WIDTH, BLOCKS = (512, 32, 128, 2) if GPU else (8, 16, 16, 2)


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        y = x
        for _ in range(2):
            y = nn.relu(nn.GroupNorm(8, dtype=jnp.bfloat16)(y))
            y = nn.Conv(WIDTH, (3, 3), use_bias=False, dtype=jnp.bfloat16)(y)
        return x + y


class Classifier(nn.Module):
    @nn.compact
    def __call__(self, x):
        tiles = x.reshape(x.shape[0], SIDE, SIDE, -1)
        x = nn.Dense(WIDTH, dtype=jnp.bfloat16)(tiles)
        for _ in range(BLOCKS):
            x = Block()(x)
        return nn.Dense(10)(x.mean((1, 2)).astype(jnp.float32))


model = Classifier()
init = jax.jit(model.init)
sgd = optax.sgd(0.05, momentum=0.9, nesterov=True)


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(params, state, images, labels):
    def loss_fn(params):
        logits = model.apply(params, images)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, state = sgd.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


def main(clock):
    clock.plan(3, 6)
    key = jax.random.PRNGKey(0)
    images = jax.random.normal(key, (BATCH, SIDE, SIDE, 13), jnp.bfloat16)
    labels = jax.random.randint(key, (BATCH,), 0, 10)
    params = init(key, images[:1])
    state = sgd.init(params)
    losses = []
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, state, loss = train_step(params, state, images, labels)
            losses.append(loss)
    print("loss", float(losses[-1]))


if __name__ == "__main__":
    run(main)
