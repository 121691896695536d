"""Advantage actor-critic on pictures: values, GAE and one update per rollout."""
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the critic sees every state twice: as a state, and as the next state of the one before",
    "cause": "work done again",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["next_values", "advantages", "conv", "critic"],
    "part": "develop",
}


class Rollout(NamedTuple):
    frames: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray


ENVS, STEPS, SIDE, ACTIONS, WIDTH = 6, 10, 32, 4, 16


def conv(x, w, stride):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def features(p, frames):
    x = frames.reshape((-1,) + frames.shape[-3:])
    x = jax.nn.relu(conv(x, p["c1"], 2))
    x = jax.nn.relu(conv(x, p["c2"], 1))
    return x.mean((1, 2)).reshape(frames.shape[:-3] + (-1,))


def critic(p, frames):
    return (features(p, frames) @ p["value"])[..., 0]


def advantages(p, frames, rewards, share):
    if share:
        both = critic(p, frames)
        values, next_values = both[:-1], both[1:]
    else:
        values = critic(p, frames[:-1])
        next_values = critic(p, frames[1:])  # planted
    deltas = rewards + 0.99 * next_values - values

    def back(carry, delta):
        carry = delta + 0.99 * 0.95 * carry
        return carry, carry

    return jax.lax.scan(back, jnp.zeros(deltas.shape[1]), deltas, reverse=True)[1], values


@partial(jax.jit, static_argnames="share")
def update(actor, value_net, rollout, share):
    gains, values = advantages(value_net, rollout.frames, rollout.rewards, share)
    pictures = rollout.frames[:-1, :, ::2, ::2]

    def loss_fn(actor):
        logits = jax.nn.log_softmax(features(actor, pictures) @ actor["policy"])
        chosen = jnp.take_along_axis(logits, rollout.actions[..., None], -1)[..., 0]
        return -jnp.mean(chosen * gains)

    loss, g = jax.value_and_grad(loss_fn)(actor)
    return jax.tree_util.tree_map(lambda a, b: a - 1e-3 * b, actor, g), loss, values.mean()


def init(key, outputs, name):
    a, b, c = jax.random.split(key, 3)
    return {
        "c1": 0.1 * jax.random.normal(a, (5, 5, 3, WIDTH)),
        "c2": 0.05 * jax.random.normal(b, (3, 3, WIDTH, 2 * WIDTH)),
        name: 0.1 * jax.random.normal(c, (2 * WIDTH, outputs)),
    }


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    rollout = Rollout(
        jnp.asarray(rng.random((STEPS + 1, ENVS, SIDE, SIDE, 3)), jnp.float32),
        jnp.asarray(rng.integers(0, ACTIONS, (STEPS, ENVS))),
        jnp.asarray(rng.standard_normal((STEPS, ENVS)), jnp.float32),
    )
    actor = init(jax.random.PRNGKey(0), ACTIONS, "policy")
    value_net = init(jax.random.PRNGKey(1), 1, "value")
    loss = jnp.zeros(())
    for step in clock.loop(lambda: loss):
        with clock.mark(step, "update"):
            actor, loss, mean = update(actor, value_net, rollout, share=clock.fixed)
            if step % 5 == 4:
                print(step, float(loss), float(mean))


if __name__ == "__main__":
    run(main)
