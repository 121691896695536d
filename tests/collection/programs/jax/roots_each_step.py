"""Shampoo for a small language model, from the paper's pseudo-code."""
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the optimizer takes inverse roots of its preconditioners by eigh in each step, not each fiftieth",
    "cause": "an optimizer that factors matrices in each step",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op", "largest-part"],
    "words": ["inverse_root", "eigh", "syevd", "precondition"],
    "part": "develop",
}

VOCABULARY, WIDTH, LENGTH, BATCH = 512, 192, 64, 8


class Shampoo(NamedTuple):
    left: dict
    right: dict
    left_root: dict
    right_root: dict
    momentum: dict
    count: jax.Array


def inverse_root(matrix, power=4, ridge=1e-4):
    values, vectors = jnp.linalg.eigh(matrix + ridge * jnp.eye(len(matrix)))  # planted
    return (vectors * jnp.maximum(values, ridge) ** (-1.0 / power)) @ vectors.T


def init(params):
    def eye(axis):
        return jax.tree_util.tree_map(lambda p: jnp.eye(p.shape[axis]), params)

    zeros = jax.tree_util.tree_map(jnp.zeros_like, params)
    return Shampoo(eye(0), eye(1), eye(0), eye(1), zeros, jnp.zeros((), jnp.int32))


def precondition(grads, state, every, lr=0.02, beta=0.9):
    tree_map = jax.tree_util.tree_map
    left = tree_map(lambda s, g: 0.95 * s + 0.05 * g @ g.T, state.left, grads)
    right = tree_map(lambda s, g: 0.95 * s + 0.05 * g.T @ g, state.right, grads)

    def new_roots(_):
        return tree_map(inverse_root, left), tree_map(inverse_root, right)

    def old_roots(_):
        return state.left_root, state.right_root

    left_root, right_root = jax.lax.cond(state.count % every == 0, new_roots, old_roots, None)
    updates = tree_map(lambda a, g, b: a @ g @ b, left_root, grads, right_root)
    momentum = tree_map(lambda m, u: beta * m + u, state.momentum, updates)
    steps = tree_map(lambda m: -lr * m, momentum)
    return steps, Shampoo(left, right, left_root, right_root, momentum, state.count + 1)


def model(params, tokens):
    x = params["embed"][tokens]
    scores = (x @ params["query"]) @ jnp.swapaxes(x @ params["key"], 1, 2) / WIDTH**0.5
    causal = jnp.tril(jnp.ones((tokens.shape[1],) * 2, bool))
    x = x + jax.nn.softmax(jnp.where(causal, scores, -1e9)) @ (x @ params["value"])
    x = x + jax.nn.gelu(x @ params["up"]) @ params["down"]
    return x @ params["embed"].T


@partial(jax.jit, static_argnames="every")
def train_step(params, state, tokens, every):
    def loss_of(params):
        logits = jax.nn.log_softmax(model(params, tokens[:, :-1]))
        return -jnp.mean(jnp.take_along_axis(logits, tokens[:, 1:, None], 2))

    loss, grads = jax.value_and_grad(loss_of)(params)
    steps, state = precondition(grads, state, every)
    return jax.tree_util.tree_map(jnp.add, params, steps), state, loss


def main(clock):
    clock.plan(3, 5)
    shapes = {"embed": (VOCABULARY, WIDTH), "up": (WIDTH, 2 * WIDTH), "down": (2 * WIDTH, WIDTH)}
    shapes.update({name: (WIDTH, WIDTH) for name in ("query", "key", "value")})
    keys = jax.random.split(jax.random.PRNGKey(0), len(shapes))
    params = {name: 0.05 * jax.random.normal(k, shape) for k, (name, shape) in zip(keys, shapes.items())}
    state = init(params)
    tokens = jax.random.randint(jax.random.PRNGKey(1), (BATCH, LENGTH + 1), 0, VOCABULARY)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, state, loss = train_step(params, state, tokens, 50 if clock.fixed else 1)
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
