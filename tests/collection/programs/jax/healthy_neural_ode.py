import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

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


def field(params, state):
    hidden = jnp.tanh(state @ params["w1"] + params["b1"])
    hidden = jnp.tanh(hidden @ params["w2"] + params["b2"])
    return hidden @ params["w3"]


def rk4(params, state, dt):
    k1 = field(params, state)
    k2 = field(params, state + 0.5 * dt * k1)
    k3 = field(params, state + 0.5 * dt * k2)
    k4 = field(params, state + dt * k3)
    return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def odeint(params, start, steps, dt):
    def body(state, _):
        state = rk4(params, state, dt)
        return state, state

    return jax.lax.scan(body, start, None, length=steps)[1]


def loss_fn(params, start, target):
    return jnp.mean((odeint(params, start, len(target), 0.1) - target) ** 2)


@partial(jax.jit, donate_argnums=0)
def train_step(params, start, target):
    loss, grads = jax.value_and_grad(loss_fn)(params, start, target)
    return jax.tree_util.tree_map(lambda p, g: p - 0.05 * g, params, grads), loss


def spirals(key, count, steps, width):
    start = jax.random.normal(key, (count, width))
    turn = jax.random.orthogonal(key, width)
    rows = [start]
    for _ in range(steps):
        rows.append(0.95 * rows[-1] @ turn)
    return start, jnp.stack(rows[1:])


def main(clock):
    clock.plan(3, 3)
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    width, hidden = 64, 256
    params = {
        "w1": jax.random.normal(keys[0], (width, hidden)) * 0.1,
        "b1": jnp.zeros(hidden),
        "w2": jax.random.normal(keys[1], (hidden, hidden)) * 0.05,
        "b2": jnp.zeros(hidden),
        "w3": jax.random.normal(keys[2], (hidden, width)) * 0.05,
    }
    start, target = spirals(keys[0], 512, 4, width)
    loss = jnp.zeros(())
    for step in clock.loop(lambda: loss):
        with clock.mark(step):
            params, loss = train_step(params, start, target)
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
