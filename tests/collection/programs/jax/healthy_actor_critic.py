"""Soft actor-critic: two critics, their slow targets, a squashed Gaussian actor."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

OBSERVED, ACTIONS, HIDDEN, BATCH = 64, 12, 320, 256


def mlp(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def init(key, sizes):
    keys = jax.random.split(key, len(sizes))
    return [(jax.random.normal(k, (a, b)) * (2 / a) ** 0.5, jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]


def act(actor, key, state):
    mean, log_std = jnp.split(mlp(actor, state), 2, -1)
    log_std = jnp.clip(log_std, -5, 2)
    noise = jax.random.normal(key, mean.shape)
    action = jnp.tanh(mean + jnp.exp(log_std) * noise)
    log_prob = (-0.5 * noise**2 - log_std - jnp.log(1 - action**2 + 1e-6)).sum(-1)
    return action, log_prob


def value(critics, state, action):
    x = jnp.concatenate([state, action], -1)
    return jax.vmap(mlp, (0, None))(critics, x)[..., 0]


def critic_loss(critics, actor, targets, batch, key, alpha=0.2, gamma=0.99):
    state, action, reward, following = batch
    next_action, log_prob = act(actor, key, following)
    goal = reward + gamma * (value(targets, following, next_action).min(0) - alpha * log_prob)
    return jnp.mean((value(critics, state, action) - jax.lax.stop_gradient(goal)) ** 2)


def actor_loss(actor, critics, state, key, alpha=0.2):
    action, log_prob = act(actor, key, state)
    return jnp.mean(alpha * log_prob - value(critics, state, action).min(0))


def descend(params, grads, rate=3e-4):
    return jax.tree_util.tree_map(lambda p, g: p - rate * g, params, grads)


@jax.jit
def update(actor, critics, targets, batch, key):
    first, second = jax.random.split(key)
    loss, slope = jax.value_and_grad(critic_loss)(critics, actor, targets, batch, first)
    critics = descend(critics, slope)
    actor = descend(actor, jax.grad(actor_loss)(actor, critics, batch[0], second))
    targets = jax.tree_util.tree_map(lambda t, c: 0.995 * t + 0.005 * c, targets, critics)
    return actor, critics, targets, loss


def main(clock):
    clock.plan(3, 3)
    keys = jax.random.split(jax.random.PRNGKey(0), 6)
    actor = init(keys[0], [OBSERVED, HIDDEN, HIDDEN, 2 * ACTIONS])
    critics = jax.vmap(lambda k: init(k, [OBSERVED + ACTIONS, HIDDEN, HIDDEN, 1]))(jax.random.split(keys[1], 2))
    targets = critics
    replay = [jax.random.normal(k, (10, BATCH, n)) for k, n in zip(keys[2:5], (OBSERVED, ACTIONS, OBSERVED))]
    rewards, loss = jax.random.normal(keys[5], (10, BATCH)), jnp.zeros(())
    for step in clock.loop(lambda: loss):
        with clock.mark(step):
            i = step % 10
            batch = (replay[0][i], replay[1][i], rewards[i], replay[2][i])
            actor, critics, targets, loss = update(actor, critics, targets, batch, jax.random.fold_in(keys[5], step))


if __name__ == "__main__":
    run(main)
