"""Mazes for reinforcement learning, stepped and reset within one compiled rollout."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each move makes a new maze for every one of the worlds, by rounds of cave growth and a flood of distances, and where() keeps it for the few whose episode is over",
    "cause": "results computed and thrown away",
    "accept": ["largest-part", "graph-loop", "dominant-op"],
    "rules": ["graph-loop", "dominant-op"],
    "words": ["make_maze", "reset", "auto_reset", "flood"],
    "part": "develop",
}

WORLDS, SIDE, MOVES, ROUNDS = 256, 12, 3, 8
WAYS = jnp.array([(0, 1), (1, 0), (0, -1), (-1, 0)])


def neighbours(grid):
    rolls = [jnp.roll(grid, shift, axis) for axis in (0, 1) for shift in (1, -1)]
    return jnp.stack(rolls)


def make_maze(key):
    """Walls by cave growth; the way home from each cell by a flood."""
    walls = jax.random.uniform(key, (SIDE, SIDE)) < 0.35
    for _ in range(3):
        walls = neighbours(walls.astype(jnp.float32)).sum(0) + walls > 2
    flood = jnp.where(walls, 1e3, 50.0).at[0, 0].set(0)
    widen = lambda _, d: jnp.where(walls, 1e3, jnp.minimum(d, neighbours(d).min(0) + 1))
    return walls, jax.lax.fori_loop(0, ROUNDS, widen, flood)


def reset(key):
    walls, home = make_maze(key)
    return {"walls": walls, "home": home, "at": jax.random.randint(key, (2,), 0, SIDE), "age": jnp.zeros((), int)}


def auto_reset(key, state, is_over, pool):
    if pool is None:
        fresh = reset(key)  # planted
    else:
        which = jax.random.randint(key, (), 0, len(pool["age"]))
        fresh = jax.tree_util.tree_map(lambda many: many[which], pool)
    return jax.tree_util.tree_map(lambda new, old: jnp.where(is_over, new, old), fresh, state)


def policy(p, state):
    near = jnp.stack([state["walls"].astype(jnp.float32), state["home"] / 50]).ravel()
    place = jax.nn.one_hot(state["at"], SIDE).ravel()
    return jax.nn.relu(jnp.concatenate([near, place]) @ p[0]) @ p[1]


def move(p, pool, state, key):
    a, b = jax.random.split(key)
    way = jax.random.categorical(a, policy(p, state))
    at = (state["at"] + WAYS[way]) % SIDE
    at = jnp.where(state["walls"][at[0], at[1]], state["at"], at)
    reward = -state["home"][at[0], at[1]] / 50
    state = {**state, "at": at, "age": state["age"] + 1}
    is_over = (state["age"] > 40) | (at.sum() == 0)
    return auto_reset(b, state, is_over, pool), reward


@jax.jit
def rollout(p, pool, states, key):
    def all_move(states, key):
        keys = jax.random.split(key, WORLDS)
        return jax.vmap(partial(move, p, pool))(states, keys)

    return jax.lax.scan(all_move, states, jax.random.split(key, MOVES))


def main(clock):
    clock.plan(3, 2)
    keys = jax.random.split(jax.random.PRNGKey(0), 40)
    inputs = 2 * SIDE * SIDE + 2 * SIDE
    p = [jax.random.normal(keys[0], (inputs, 768)) * inputs**-0.5, jax.random.normal(keys[1], (768, 4)) * 0.04]
    states = jax.jit(jax.vmap(reset))(jax.random.split(keys[2], WORLDS))
    pool = jax.jit(jax.vmap(reset))(jax.random.split(keys[3], 200)) if clock.fixed else None
    for step in clock.loop(lambda: states):
        with clock.mark(step, "rollout"):
            states, rewards = rollout(p, pool, states, keys[step % 40])
            rewards.block_until_ready()


if __name__ == "__main__":
    run(main)
