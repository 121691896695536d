import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def conv(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def forward(params, x):
    x = jax.nn.relu(conv(x, params["c1"]))
    x = jax.nn.relu(conv(x, params["c2"]))[:, ::2, ::2]
    return x.reshape(x.shape[0], -1) @ params["out"]


@jax.jit
def train_step(params, x, y):
    def loss_fn(params):
        return jnp.mean((forward(params, x) - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), loss


def main(clock):
    clock.plan(3, 8)
    k1, k2, k3 = jax.random.split(jax.random.PRNGKey(1), 3)
    params = {
        "c1": jax.random.normal(k1, (3, 3, 1, 16)) * 0.1,
        "c2": jax.random.normal(k2, (3, 3, 16, 16)) * 0.1,
        "out": jax.random.normal(k3, (14 * 14 * 16, 10)) * 0.05,
    }
    x, y = jax.random.normal(k1, (32, 28, 28, 1)), jnp.ones((32, 10))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = train_step(params, x, y)
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
