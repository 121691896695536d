import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "at[].set outside of a jitted function, without donation, copies the whole replay buffer for each insertion",
    "cause": "a large array copied to change a few rows",
    "accept": ["array-writes", "dominant-op", "device-copies", "eager-execution"],
    "rules": ["array-writes", "dominant-op", "eager-execution", "host-waits", "device-copies"],
    "words": ["add", "scatter", "dynamic_update_slice", "at[", ".set", "copy"],
    "part": "develop",
}

SIZE = 25_000


class Replay:
    def __init__(self, width):
        self.states = jnp.zeros((SIZE, width))
        self.rewards = jnp.zeros((SIZE,))
        self.at = 0

    def add(self, states, rewards):
        rows = (self.at + jnp.arange(len(states))) % SIZE
        self.states = self.states.at[rows].set(states)  # planted
        self.rewards = self.rewards.at[rows].set(rewards)  # planted
        self.at = (self.at + len(states)) % SIZE


@partial(jax.jit, donate_argnums=(0, 1))
def insert(buffer, kept, states, rewards, at):
    buffer = jax.lax.dynamic_update_slice(buffer, states, (at, 0))
    return buffer, jax.lax.dynamic_update_slice(kept, rewards, (at,))


class DonatedReplay(Replay):
    def add(self, states, rewards):
        self.states, self.rewards = insert(self.states, self.rewards, states, rewards, self.at)
        self.at = (self.at + len(states)) % SIZE


@jax.jit
def learn(params, states, rewards):
    def loss(params):
        hidden = jax.nn.relu(states @ params[0])
        return jnp.mean(((jax.nn.relu(hidden @ params[1]) @ params[2])[:, 0] - rewards) ** 2)

    return [p - 0.01 * g for p, g in zip(params, jax.grad(loss)(params))]


def main(clock):
    clock.plan(3, 8)
    replay = (DonatedReplay if clock.fixed else Replay)(128)
    key = jax.random.PRNGKey(0)
    params = [0.05 * jax.random.normal(key, shape) for shape in ((128, 512), (512, 512), (512, 1))]
    new, rewards = jax.random.normal(key, (16, 128)), jnp.ones(16)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            replay.add(new, rewards)
            index = jax.random.randint(jax.random.fold_in(key, step), (512,), 0, SIZE)
            params = learn(params, replay.states[index], replay.rewards[index])
            jax.block_until_ready(params)


if __name__ == "__main__":
    run(main)
