import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a condition within vmap computes the costly contact for every particle though one in forty touches the ground",
    "cause": "results computed and thrown away",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["solve_contact", "cond"],
    "part": "develop",
}

DT, CONTACTS = 0.01, 4096


def terrain(params, xy):
    return 0.05 * jnp.tanh(params["w2"] @ jnp.tanh(params["w1"] @ xy + params["b1"]))


def free_flight(params, state):
    position, velocity = state
    velocity = velocity - DT * jnp.array([0.0, 0.0, 9.81]) - DT * 0.1 * velocity
    return position + DT * velocity, velocity


def solve_contact(params, state):
    """Newton steps for the impulse that keeps a particle above the ground."""
    position, velocity = free_flight(params, state)
    height = partial(terrain, params)

    def refine(_, impulse):
        gap = position[2] + DT * impulse - height(position[:2] + DT * impulse * 0.01)
        slope = DT - 0.01 * DT * jax.grad(height)(position[:2]).sum()
        return impulse - 0.8 * jnp.minimum(gap, 0.0) / slope

    impulse = jax.lax.fori_loop(0, 8, refine, 0.0)
    velocity = velocity.at[2].add(impulse) * jnp.array([0.9, 0.9, -0.3])
    return position.at[2].add(DT * impulse), velocity


def one_particle(params, position, velocity):
    touches = position[2] < terrain(params, position[:2]) + 0.02
    return jax.lax.cond(touches, solve_contact, free_flight, params, (position, velocity))  # planted


@jax.jit
def advance(params, positions, velocities):
    return jax.vmap(one_particle, (None, 0, 0))(params, positions, velocities)


@jax.jit
def advance_selected(params, positions, velocities):
    heights = jax.vmap(partial(terrain, params))(positions[:, :2])
    (rows,) = jnp.nonzero(positions[:, 2] < heights + 0.02, size=CONTACTS, fill_value=0)
    few = positions[rows], velocities[rows]
    touched = jax.vmap(solve_contact, (None, 0))(params, few)
    flown = jax.vmap(free_flight, (None, 0))(params, (positions, velocities))
    return tuple(all_.at[rows].set(some) for all_, some in zip(flown, touched))


@jax.jit
def control(policy, positions, velocities):
    hidden = jnp.tanh(jnp.concatenate([positions, velocities], 1) @ policy[0])
    return velocities + DT * jnp.tanh(jnp.tanh(hidden @ policy[1]) @ policy[2])


def respawn(key, positions):
    lifted = positions.at[:, 2].set(jax.random.uniform(key, positions.shape[:1], maxval=2.0))
    return jnp.where(positions[:, 2:] < -1, lifted, positions)


def main(clock):
    clock.plan(2, 3)
    keys = jax.random.split(jax.random.PRNGKey(0), 5)
    params = {
        "w1": jax.random.normal(keys[0], (64, 2)),
        "b1": jax.random.normal(keys[1], (64,)),
        "w2": 0.1 * jax.random.normal(keys[2], (64,)),
    }
    positions = jax.random.uniform(keys[3], (16384, 3), maxval=2.0)
    velocities = jax.random.normal(keys[4], (16384, 3))
    sizes = [(6, 64), (64, 64), (64, 3)]
    policy = [0.3 * jax.random.normal(k, s) for k, s in zip(keys, sizes)]
    move = advance_selected if clock.fixed else advance
    for step in clock.loop(lambda: positions):
        with clock.mark(step, "simulate"):
            velocities = control(policy, positions, velocities)
            positions, velocities = move(params, positions, velocities)
            positions = respawn(jax.random.fold_in(keys[0], step), positions)
            positions.block_until_ready()


if __name__ == "__main__":
    run(main)
