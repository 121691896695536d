import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


@jax.jit
def epoch(params, batches):
    def loss_fn(params, x):
        h = jnp.tanh(x @ params[0])
        return jnp.mean((h @ params[1] - x) ** 2)

    def body(params, x):
        grads = jax.grad(loss_fn)(params, x)
        return [p - 0.05 * g for p, g in zip(params, grads)], None

    return jax.lax.scan(body, params, batches)[0]


def main(clock):
    clock.plan(2, 6)
    key = jax.random.PRNGKey(3)
    params = [jax.random.normal(key, (256, 512)) * 0.05, jax.random.normal(key, (512, 256)) * 0.05]
    batches = jax.random.normal(key, (4, 256, 256))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params = epoch(params, batches)
            params[0].block_until_ready()


if __name__ == "__main__":
    run(main)
