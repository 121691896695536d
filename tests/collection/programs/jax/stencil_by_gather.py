"""A neural cellular automaton grows a picture from one cell."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a cell's eight neighbours are looked up by index, whose gradient scatters; rolling the grid gives the same",
    "cause": "an op whose gradient is slow",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["neighbours_by_index", "gather", "scatter", "scatter-add"],
    "part": "score",
}

SIDE, CHANNELS, HIDDEN, BATCH, ROUNDS = 32, 12, 32, 4, 4
SHIFTS = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]


def neighbour_table():
    cells = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    return np.stack([np.roll(cells, shift, (0, 1)).ravel() for shift in SHIFTS], 1)


TABLE = neighbour_table()


def neighbours_by_index(grid):
    flat = grid.reshape(BATCH, SIDE * SIDE, CHANNELS)
    return flat[:, TABLE].reshape(BATCH, SIDE, SIDE, 8, CHANNELS)  # planted


def neighbours_by_rolling(grid):
    return jnp.stack([jnp.roll(grid, shift, (1, 2)) for shift in SHIFTS], 3)


def grow(params, grid, key, look):
    near = look(grid)
    seen = jnp.concatenate([grid, jnp.einsum("byxnc,nk->byxkc", near, params["mix"]).reshape(*grid.shape[:3], -1)], -1)
    change = jax.nn.relu(seen @ params["w1"] + params["b1"]) @ params["w2"]
    awake = jax.random.bernoulli(key, 0.5, grid.shape[:3] + (1,))
    return grid + change * awake


@partial(jax.jit, static_argnames="look")
def train_step(params, seed, target, key, look):
    def loss_fn(params):
        grid = seed
        for one in jax.random.split(key, ROUNDS):
            grid = grow(params, grid, one, look)
        return jnp.mean((grid[..., :4] - target) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    size = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree_util.tree_leaves(grads))) + 1e-8
    return jax.tree_util.tree_map(lambda p, g: p - 2e-3 * g / size, params, grads), loss


def main(clock):
    clock.plan(2, 3)
    rng = np.random.default_rng(0)
    params = {
        "mix": jnp.asarray(rng.normal(0, 0.3, (8, 2)), jnp.float32),
        "w1": jnp.asarray(rng.normal(0, 0.1, (3 * CHANNELS, HIDDEN)), jnp.float32),
        "b1": jnp.zeros(HIDDEN),
        "w2": jnp.zeros((HIDDEN, CHANNELS)),
    }
    seed = jnp.zeros((BATCH, SIDE, SIDE, CHANNELS)).at[:, SIDE // 2, SIDE // 2, 3:].set(1.0)
    target, key = jnp.asarray(rng.random((SIDE, SIDE, 4)), jnp.float32), jax.random.PRNGKey(0)
    look = neighbours_by_rolling if clock.fixed else neighbours_by_index
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            key, one = jax.random.split(key)
            params, loss = train_step(params, seed, target, one, look=look)
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
