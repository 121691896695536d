"""Learns to balance thousands of poles at once: a rollout by scan, then two epochs of PPO."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

GPU = jax.default_backend() == "gpu"
POLES, TIME, HIDDEN, EPOCHS = (65536, 12, 256, 2) if GPU else (256, 12, 32, 2)


def actor_critic(p, state):
    angle, speed = state[..., 0], state[..., 1]
    seen = jnp.stack([jnp.sin(angle), jnp.cos(angle), speed], -1)
    h = jnp.tanh(jnp.tanh(seen @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"])
    out = h @ p["w3"]
    return out[..., 0], out[..., 1]


def pole(state, torque):
    angle, speed = state[:, 0], state[:, 1]
    speed = jnp.clip(speed + 0.05 * (15 * jnp.sin(angle) + 3 * jnp.clip(torque, -2, 2)), -8, 8)
    angle = (angle + 0.05 * speed + jnp.pi) % (2 * jnp.pi) - jnp.pi
    return jnp.stack([angle, speed], 1), -(angle**2 + 0.1 * speed**2 + 0.001 * torque**2)


def log_density(p, action, mean):
    return -0.5 * ((action - mean) * jnp.exp(-p["spread"])) ** 2 - p["spread"]


def play(p, state, key):
    def one(state, key):
        mean, value = actor_critic(p, state)
        action = mean + jnp.exp(p["spread"]) * jax.random.normal(key, mean.shape)
        after, reward = pole(state, action)
        return after, (state, action, log_density(p, action, mean), value, reward)

    return jax.lax.scan(one, state, jax.random.split(key, TIME))


def ppo_loss(p, states, actions, before, gains, returns):
    mean, value = actor_critic(p, states)
    ratio = jnp.exp(log_density(p, actions, mean) - before)
    clipped = jnp.clip(ratio, 0.8, 1.2)
    return -jnp.mean(jnp.minimum(ratio * gains, clipped * gains)) + 0.5 * jnp.mean((value - returns) ** 2)


@partial(jax.jit, donate_argnums=(0, 1))
def iteration(p, state, key):
    key, sub = jax.random.split(key)
    state, (states, actions, before, values, rewards) = play(p, state, sub)
    last = actor_critic(p, state)[1]
    after = jnp.concatenate([values[1:], last[None]])
    deltas = rewards + 0.98 * after - values
    decay = (0.98 * 0.95) ** jnp.maximum(jnp.arange(TIME)[None] - jnp.arange(TIME)[:, None], 0)
    gains = jnp.triu(decay) @ deltas
    returns = gains + values
    gains = (gains - gains.mean()) / (gains.std() + 1e-6)
    for _ in range(EPOCHS):
        g = jax.grad(ppo_loss)(p, states, actions, before, gains, returns)
        p = jax.tree.map(lambda p, g: p - 3e-3 * g, p, g)
    return p, state, key, rewards.mean()


def main(clock):
    clock.plan(3, 4)
    a, b, c = jax.random.split(jax.random.PRNGKey(0), 3)
    p = {
        "w1": jax.random.normal(a, (3, HIDDEN)),
        "b1": jnp.zeros(HIDDEN),
        "w2": jax.random.normal(b, (HIDDEN, HIDDEN)) * HIDDEN**-0.5,
        "b2": jnp.zeros(HIDDEN),
        "w3": jax.random.normal(c, (HIDDEN, 2)) * 0.1 * HIDDEN**-0.5,
        "spread": jnp.zeros(()),
    }
    key = jax.random.PRNGKey(1)
    state = jax.random.uniform(key, (POLES, 2), minval=-3.0, maxval=3.0)
    rewards = []
    for step in clock.loop(lambda: p):
        with clock.mark(step, "iteration"):
            p, state, key, reward = iteration(p, state, key)
            rewards.append(reward)
    print(float(rewards[-1]))


if __name__ == "__main__":
    run(main)
