"""Rain of the next hour from radar: a small U-shaped net."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

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

PAST, AHEAD, SIDE, BATCH, WIDTH = 6, 3, 48, 4, 16


def conv(x, w, stride=1):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def up(x):
    return jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)


def init(key):
    shapes = {
        "a": (3, 3, PAST, WIDTH),
        "b": (3, 3, WIDTH, 2 * WIDTH),
        "c": (3, 3, 2 * WIDTH, 4 * WIDTH),
        "d": (3, 3, 4 * WIDTH, 2 * WIDTH),
        "e": (3, 3, 4 * WIDTH, WIDTH),
        "f": (3, 3, 2 * WIDTH, AHEAD),
    }
    keys = jax.random.split(key, len(shapes))
    return {n: jax.random.normal(k, s) * (s[0] * s[1] * s[2]) ** -0.5 for k, (n, s) in zip(keys, shapes.items())}


def net(p, radar):
    one = jax.nn.relu(conv(radar, p["a"]))
    two = jax.nn.relu(conv(one, p["b"], 2))
    three = jax.nn.relu(conv(two, p["c"], 2))
    x = jax.nn.relu(conv(three, p["d"]))
    x = jax.nn.relu(conv(jnp.concatenate([up(x), two], -1), p["e"]))
    return conv(jnp.concatenate([up(x), one], -1), p["f"])


@partial(jax.jit, donate_argnums=0)
def train_step(p, past, ahead):
    loss, g = jax.value_and_grad(lambda p: jnp.mean(jnp.abs(net(p, past) - ahead)))(p)
    return jax.tree_util.tree_map(lambda a, b: a - 1e-2 * b, p, g), loss


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    radar = jnp.asarray(rng.gamma(0.4, 1.0, (6, BATCH, SIDE, SIDE, PAST + AHEAD)), jnp.float32)
    batches = [(one[..., :PAST], one[..., PAST:]) for one in radar]
    params, loss = init(jax.random.PRNGKey(0)), jnp.zeros(())
    for step in clock.loop(lambda: loss):
        with clock.mark(step):
            params, loss = train_step(params, *batches[step % 6])


if __name__ == "__main__":
    run(main)
