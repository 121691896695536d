import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "only the gradient is jitted: optax updates the parameters op by op",
    "cause": "ops dispatched one by one",
    "accept": ["eager-execution", "optimizer-per-variable", "python-bound"],
    "rules": ["eager-execution", "optimizer-per-variable", "python-bound", "launch-bound", "tiny-kernels", "no-xla"],
    "words": ["optax", "apply_updates", "tx.update", "apply_gradients", "update_moment"],
    "part": "develop",
}


class Mixer(nn.Module):
    width: int
    depth: int

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width)(x)
        for _ in range(self.depth):
            x = x + nn.Dense(self.width)(nn.gelu(nn.Dense(2 * self.width)(nn.LayerNorm()(x))))
        return nn.Dense(10)(x)


def main(clock):
    clock.plan(3, 3)
    model = Mixer(384, 1)
    key = jax.random.PRNGKey(0)
    x, y = jax.random.normal(key, (512, 64)), jax.random.randint(key, (512,), 0, 10)
    params = model.init(key, x)
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    state = tx.init(params)

    @jax.jit
    def gradient(params, x, y):
        def loss(params):
            logits = model.apply(params, x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        return jax.value_and_grad(loss)(params)

    def apply_gradients(params, state, grads):
        updates, state = tx.update(grads, state, params)  # planted
        return optax.apply_updates(params, updates), state  # planted

    update = jax.jit(apply_gradients) if clock.fixed else apply_gradients
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            loss, grads = gradient(params, x, y)
            params, state = update(params, state, grads)


if __name__ == "__main__":
    run(main)
