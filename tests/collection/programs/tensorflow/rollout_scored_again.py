"""PPO on vectorised environments, after the usual single-file implementations."""
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the old policy scores the whole rollout again for each minibatch, of which a quarter is used",
    "cause": "a forward pass that was done before",
    "accept": ["largest-part"],
    "rules": ["largest-part"],
    "words": ["old_log_probs", "old_actor"],
    "part": "develop",
}


@dataclass
class Config:
    envs: int = 32
    horizon: int = 64
    obs_dim: int = 96
    actions: int = 12
    hidden: int = 512
    minibatch: int = 512
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    value: float = 0.5
    max_norm: float = 0.5
    lr: float = 3e-4


def mlp(sizes, out):
    layers = [tf.keras.layers.Dense(n, activation="tanh") for n in sizes]
    return tf.keras.Sequential([*layers, tf.keras.layers.Dense(out)])


class PPO:
    def __init__(self, config, stores):
        self.c, self.stores = config, stores
        self.actor = mlp([config.hidden] * 2, config.actions)
        self.old_actor = mlp([config.hidden] * 2, config.actions)
        self.critic = mlp([config.hidden], 1)
        for net in (self.actor, self.old_actor, self.critic):
            net.build((None, config.obs_dim))
        self.optimizer = tf.keras.optimizers.Adam(config.lr, epsilon=1e-5)
        self.sync()

    def sync(self):
        self.old_actor.set_weights(self.actor.get_weights())

    def log_prob(self, net, states, actions):
        return tf.gather(tf.nn.log_softmax(net(states)), actions, batch_dims=1)

    def old_log_probs(self, rollout, index):
        if self.stores:
            return tf.gather(rollout["logp"], index)
        scores = self.log_prob(self.old_actor, rollout["states"], rollout["actions"])  # planted
        return tf.gather(scores, index)  # planted

    @tf.function
    def learn(self, rollout, index):
        states, actions = tf.gather(rollout["states"], index), tf.gather(rollout["actions"], index)
        advantages, returns = tf.gather(rollout["advantages"], index), tf.gather(rollout["returns"], index)
        advantages = (advantages - tf.reduce_mean(advantages)) / (tf.math.reduce_std(advantages) + 1e-8)
        old = self.old_log_probs(rollout, index)
        with tf.GradientTape() as tape:
            logits = tf.nn.log_softmax(self.actor(states))
            ratio = tf.exp(tf.gather(logits, actions, batch_dims=1) - old)
            clipped = tf.clip_by_value(ratio, 1 - self.c.clip, 1 + self.c.clip)
            policy = -tf.reduce_mean(tf.minimum(ratio * advantages, clipped * advantages))
            value = tf.reduce_mean((tf.squeeze(self.critic(states), 1) - returns) ** 2)
            entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(logits) * logits, 1))
            loss = policy + self.c.value * value - self.c.entropy * entropy
        variables = self.actor.trainable_variables + self.critic.trainable_variables
        grads, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), self.c.max_norm)
        self.optimizer.apply_gradients(zip(grads, variables))
        return loss


def gae(rewards, values, config):
    advantages, last = np.zeros_like(rewards), 0.0
    for t in reversed(range(len(rewards))):
        following = values[t + 1] if t + 1 < len(rewards) else 0.0
        last = rewards[t] + config.gamma * following - values[t] + config.gamma * config.lam * last
        advantages[t] = last
    return advantages


def collect(agent, config):
    rng = np.random.default_rng(0)
    count = config.horizon * config.envs
    states = tf.constant(rng.normal(size=(count, config.obs_dim)), tf.float32)
    actions = tf.constant(rng.integers(0, config.actions, count))
    rewards = rng.normal(size=(config.horizon, config.envs)).astype(np.float32)
    values = agent.critic(states).numpy().reshape(rewards.shape)
    advantages = gae(rewards, values, config)
    rollout = {"states": states, "actions": actions, "logp": agent.log_prob(agent.actor, states, actions)}
    rollout["advantages"] = tf.constant(advantages.ravel())
    rollout["returns"] = tf.constant((advantages + values).ravel())
    return rollout


def main(clock):
    clock.plan(4, 10)
    config = Config()
    agent = PPO(config, stores=clock.fixed)
    rollout = collect(agent, config)
    order = np.random.default_rng(1).permutation(config.horizon * config.envs).reshape(-1, config.minibatch)
    for step in clock.loop():
        with clock.mark(step):
            agent.learn(rollout, tf.constant(order[step % len(order)])).numpy()


if __name__ == "__main__":
    run(main)
