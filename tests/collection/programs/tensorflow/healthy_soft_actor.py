"""Soft actor-critic on a swing-up's replay: two critics, a squashed Gaussian policy."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "score"}

STATES, ACTIONS, BATCH = 17, 6, 256


def mlp(inputs, outputs):
    dense = tf.keras.layers.Dense
    return tf.keras.Sequential([tf.keras.Input((inputs,)), dense(256, "relu"), dense(256, "relu"), dense(outputs)])


class Replay:
    def __init__(self, size, rng):
        self.rng, self.size = rng, size
        self.states = rng.normal(size=(size, STATES)).astype(np.float32)
        self.actions = rng.uniform(-1, 1, (size, ACTIONS)).astype(np.float32)
        self.rewards = rng.normal(size=size).astype(np.float32)

    def sample(self):
        at = self.rng.integers(0, self.size - 1, BATCH)
        return self.states[at], self.actions[at], self.rewards[at], self.states[at + 1]


class SAC(tf.Module):
    def __init__(self):
        super().__init__()
        self.actor = mlp(STATES, 2 * ACTIONS)
        self.critics = [mlp(STATES + ACTIONS, 1) for _ in range(2)]
        self.targets = [mlp(STATES + ACTIONS, 1) for _ in range(2)]
        self.of_actor, self.of_critic = tf.keras.optimizers.Adam(3e-4), tf.keras.optimizers.Adam(3e-4)

    def act(self, s):
        mean, log_std = tf.split(self.actor(s), 2, -1)
        noise = tf.random.normal(tf.shape(mean))
        raw = mean + tf.exp(tf.clip_by_value(log_std, -5.0, 2.0)) * noise
        logp = -0.5 * noise**2 - log_std - 2 * (np.log(2.0) - raw - tf.nn.softplus(-2 * raw))
        return tf.tanh(raw), tf.reduce_sum(logp, -1)

    def lowest(self, nets, s, a):
        return tf.reduce_min([net(tf.concat([s, a], -1))[:, 0] for net in nets], 0)

    @tf.function
    def update(self, s, a, r, following):
        next_a, logp = self.act(following)
        goal = r + 0.99 * (self.lowest(self.targets, following, next_a) - 0.2 * logp)
        weights = [w for net in self.critics for w in net.trainable_variables]
        with tf.GradientTape() as tape:
            sa = tf.concat([s, a], -1)
            loss = tf.add_n([tf.reduce_mean((net(sa)[:, 0] - goal) ** 2) for net in self.critics])
        self.of_critic.apply_gradients(zip(tape.gradient(loss, weights), weights))
        weights = self.actor.trainable_variables
        with tf.GradientTape() as tape:
            new, logp = self.act(s)
            gain = tf.reduce_mean(0.2 * logp - self.lowest(self.critics, s, new))
        self.of_actor.apply_gradients(zip(tape.gradient(gain, weights), weights))
        for slow, fast in zip(self.targets, self.critics):
            for a, b in zip(slow.variables, fast.variables):
                a.assign_add(0.005 * (b - a))
        return loss


def main(clock):
    clock.plan(4, 4)
    tf.random.set_seed(0)
    agent, replay = SAC(), Replay(20_000, np.random.default_rng(0))
    for step in clock.loop():
        with clock.mark(step, "update"):
            agent.update(*replay.sample())


if __name__ == "__main__":
    run(main)
