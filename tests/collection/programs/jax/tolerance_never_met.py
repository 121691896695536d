"""A deep equilibrium model on sequences, with one-step gradients."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the solver asks for a residual of 1e-9, which float32 never reaches: it always runs to its last iteration",
    "cause": "work done in vain",
    "accept": ["largest-part", "graph-loop"],
    "rules": ["graph-loop"],
    "words": ["fixed_point", "while", "equilibrium"],
    "part": "develop",
}

LENGTH, DIM, BATCH, MAX_ITER = 48, 96, 8, 40


def cell(params, z, x):
    mixed = jnp.einsum("ts,bsd->btd", params["mix"], z)
    return jnp.tanh(mixed @ params["w"] + x @ params["u"] + params["b"])


def fixed_point(f, z, tolerance):
    def is_far(state):
        count, _, gap = state
        return (count < MAX_ITER) & (gap > tolerance)

    def improve(state):
        count, z, _ = state
        new = f(z)
        return count + 1, new, jnp.linalg.norm(new - z) / (1e-8 + jnp.linalg.norm(new))

    return jax.lax.while_loop(is_far, improve, (0, z, jnp.inf))[1]  # planted


def equilibrium(params, x, tolerance):
    frozen = jax.lax.stop_gradient(params)
    z = fixed_point(lambda z: cell(frozen, z, jax.lax.stop_gradient(x)), jnp.zeros_like(x), tolerance)
    return cell(params, jax.lax.stop_gradient(z), x)


def loss_fn(params, x, y, tolerance):
    return jnp.mean((equilibrium(params, x, tolerance) @ params["out"] - y) ** 2)


@partial(jax.jit, static_argnames="tolerance")
def train_step(params, x, y, tolerance):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y, tolerance)
    return jax.tree_util.tree_map(lambda p, g: p - 1e-3 * g, params, grads), loss


def main(clock):
    clock.plan(3, 4)
    tolerance = 1e-3 if clock.fixed else 1e-9  # planted
    keys = jax.random.split(jax.random.PRNGKey(0), 6)
    params = {
        "mix": jax.nn.softmax(jax.random.normal(keys[0], (LENGTH, LENGTH)), -1),
        "w": 0.5 * jax.random.normal(keys[1], (DIM, DIM)) * DIM**-0.5,
        "u": jax.random.normal(keys[2], (DIM, DIM)) * DIM**-0.5,
        "b": jnp.zeros(DIM),
        "out": jax.random.normal(keys[3], (DIM, DIM)) * DIM**-0.5,
    }
    x = jax.random.normal(keys[4], (10, BATCH, LENGTH, DIM))
    y = jnp.cumsum(x, 2) / LENGTH
    losses = [jnp.zeros(())]
    for step in clock.loop(lambda: losses[-1]):
        with clock.mark(step):
            params, loss = train_step(params, x[step % 10], y[step % 10], tolerance)
            losses.append(loss)


if __name__ == "__main__":
    run(main)
