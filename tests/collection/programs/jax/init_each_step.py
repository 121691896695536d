"""First steps with Flax: clothes, a small convolutional net, optax."""
import sys
from pathlib import Path

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each step initialises the model again, to have the tree that the parameters are put into",
    "cause": "set-up work within the loop",
    "accept": ["largest-part", "python-bound", "idle-device", "eager-execution"],
    "rules": ["python-bound", "idle-device", "eager-execution"],
    "words": ["fresh_variables", "lecun_normal", "flax/linen"],
    "part": "score",
}


class ClothesNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (16, 32):
            x = nn.relu(nn.Conv(width, (3, 3), strides=2)(x))
        x = nn.relu(nn.Dense(128)(x.reshape(len(x), -1)))
        return nn.Dense(10)(x)


def fresh_variables(model, images):
    return model.init(jax.random.PRNGKey(0), images[:1])  # planted


def main(clock):
    clock.plan(4, 2)
    rng = np.random.default_rng(0)
    model, optimizer = ClothesNet(), optax.adam(1e-3)
    params = model.init(jax.random.PRNGKey(0), jnp.zeros((1, 28, 28, 1)))["params"]
    state = optimizer.init(params)

    @jax.jit
    def train_step(variables, state, images, labels):
        def loss_fn(params):
            logits = model.apply({"params": params}, images)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

        loss, grads = jax.value_and_grad(loss_fn)(variables["params"])
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(variables["params"], updates), state, loss

    for step in clock.loop(lambda: params):
        with clock.mark(step):
            images = jnp.asarray(rng.random((96, 28, 28, 1)), jnp.float32)
            labels = jnp.asarray(rng.integers(0, 10, 96))
            variables = {"params": params}
            if not clock.fixed:
                variables = {**fresh_variables(model, images), "params": params}  # planted
            params, state, loss = train_step(variables, state, images, labels)
            float(loss)


if __name__ == "__main__":
    run(main)
