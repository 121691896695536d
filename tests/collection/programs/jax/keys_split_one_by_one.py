"""Neuroevolution of controllers."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a key for each of 40 members is split off by a call of its own and the keys are stacked, where one split makes them all",
    "cause": "many small dispatches",
    "accept": ["largest-part", "eager-execution", "python-bound", "launch-bound", "tiny-kernels", "tiny-ops"],
    "rules": ["eager-execution", "python-bound", "launch-bound", "tiny-kernels", "tiny-ops"],
    "words": ["member_keys", "split", "random_split", "threefry", "stack"],
    "part": "develop",
}

MEMBERS, SIGHT, HIDDEN, ACTIONS, TIMES = 48, 24, 384, 6, 6


def member_keys(key, count):
    keys = []
    for _ in range(count):
        key, own = jax.random.split(key)  # planted
        keys.append(own)
    return key, jnp.stack(keys)  # planted


def member_keys_at_once(key, count):
    keys = jax.random.split(key, count + 1)
    return keys[0], keys[1:]


def act(genome, state):
    a, b = jnp.split(genome, [SIGHT * HIDDEN])
    return jnp.tanh(jnp.tanh(state @ a.reshape(SIGHT, HIDDEN)) @ b.reshape(HIDDEN, ACTIONS))


def life(genome, key):
    """Reward of one controller in a world of noisy springs."""

    def move(state, noise):
        push = jnp.tile(act(genome, state), SIGHT // ACTIONS)
        state = 0.97 * state + 0.05 * jnp.roll(state, 1) + 0.1 * push + 0.02 * noise
        return state, -jnp.sum(state**2)

    state = jax.random.normal(key, (SIGHT,))
    return jax.lax.scan(move, state, jax.random.normal(key, (TIMES, SIGHT)))[1].sum()


@jax.jit
def generation(mean, keys):
    noise = jax.vmap(lambda key: jax.random.normal(key, mean.shape))(keys)
    rewards = jax.vmap(life)(mean + 0.1 * noise, keys)
    ranks = jnp.argsort(jnp.argsort(rewards)) / (MEMBERS - 1) - 0.5
    return mean + 0.05 * ranks @ noise, rewards.mean()


def main(clock):
    clock.plan(3, 2)
    make = member_keys_at_once if clock.fixed else member_keys
    key = jax.random.PRNGKey(0)
    mean = jnp.zeros(SIGHT * HIDDEN + HIDDEN * ACTIONS)
    for step in clock.loop(lambda: mean):
        with clock.mark(step, "generation"):
            key, keys = make(key, MEMBERS)
            mean, reward = generation(mean, keys)
            reward.block_until_ready()


if __name__ == "__main__":
    run(main)
