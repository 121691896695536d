import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "an embedding as product of one-hot rows with the table",
    "cause": "one op dominates",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["dot", "look_up"],
    "family": "dot",
    "part": "develop",
}


def look_up(table, tokens):
    return jax.nn.one_hot(tokens, table.shape[0]) @ table  # planted


def train_step(params, tokens, is_fixed):
    def loss(params):
        x = params["table"][tokens] if is_fixed else look_up(params["table"], tokens)
        return jnp.mean((jnp.tanh(x @ params["out"])) ** 2)

    grads = jax.grad(loss)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)


def main(clock):
    clock.plan(3, 6)
    step_fn = jax.jit(train_step, static_argnums=2)
    key = jax.random.PRNGKey(0)
    params = {"table": jax.random.normal(key, (4000, 128)) * 0.1, "out": jax.random.normal(key, (128, 128)) * 0.1}
    tokens = jax.random.randint(key, (256,), 0, 4000)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params = step_fn(params, tokens, clock.fixed)


if __name__ == "__main__":
    run(main)
