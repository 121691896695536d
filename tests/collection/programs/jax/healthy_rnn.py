import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def rnn(params, x):
    def cell(h, xt):
        h = jnp.tanh(xt @ params["x"] + h @ params["h"])
        return h, h

    start = jnp.zeros((x.shape[1], params["h"].shape[0]))
    return jax.lax.scan(cell, start, x)[1]


@jax.jit
def update(params, x):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((rnn(p, x) - 0.5) ** 2))(params)
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss


def main(clock):
    clock.plan(3, 8)
    key = jax.random.PRNGKey(0)
    params = {"x": jax.random.normal(key, (128, 256)) * 0.05, "h": jax.random.normal(key, (256, 256)) * 0.05}
    x = jax.random.normal(key, (16, 128, 128))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = update(params, x)
            float(loss)


if __name__ == "__main__":
    run(main)
