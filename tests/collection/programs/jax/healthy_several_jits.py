import sys
from pathlib import Path

import numpy as np
import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def mlp(p, x):
    for w, b in p[:-1]:
        x = jnp.tanh(x @ w + b)
    return x @ p[-1][0] + p[-1][1]


@jax.jit
def advantages(critic, states, rewards):
    values = mlp(critic, states)[..., 0]

    def back(after, now):
        reward, value, following = now
        after = reward + 0.99 * following - value + 0.95 * 0.99 * after
        return after, after

    following = jnp.concatenate([values[1:], values[-1:]])
    return jax.lax.scan(back, jnp.zeros(states.shape[1]), (rewards, values, following), reverse=True)[1], values


@jax.jit
def critic_update(critic, states, targets):
    grads = jax.grad(lambda p: jnp.mean((mlp(p, states)[..., 0] - targets) ** 2))(critic)
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, critic, grads)


@jax.jit
def actor_update(actor, states, actions, weights):
    def loss_of(p):
        log = jax.nn.log_softmax(mlp(p, states))
        return -jnp.mean(jnp.take_along_axis(log, actions[..., None], -1)[..., 0] * weights)

    loss, grads = jax.value_and_grad(loss_of)(actor)
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, actor, grads), loss


def main(clock):
    clock.plan(3, 12)
    rng = np.random.default_rng(0)

    def net(*sizes):
        return [
            (jnp.asarray(rng.normal(size=(a, b), scale=0.1), jnp.float32), jnp.zeros(b))
            for a, b in zip(sizes, sizes[1:])
        ]

    actor, critic = net(32, 256, 256, 6), net(32, 256, 256, 1)
    states = jnp.asarray(rng.normal(size=(64, 32, 32)), jnp.float32)
    rewards = jnp.asarray(rng.normal(size=(64, 32)), jnp.float32)
    actions = jnp.asarray(rng.integers(0, 6, (64, 32)))
    for step in clock.loop(lambda: actor):
        with clock.mark(step):
            gains, values = advantages(critic, states, rewards)
            critic = critic_update(critic, states, gains + values)
            actor, loss = actor_update(actor, states, actions, gains)
            if step % 4 == 0:
                print(step, float(loss))


if __name__ == "__main__":
    run(main)
