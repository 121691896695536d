"""REINFORCE with a baseline on a cart with a pole, TensorFlow 2."""
import math
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "after each update two whole episodes are played with the greedy policy to report a score, one state at a time; every hundredth update would do",
    "cause": "evaluation too often",
    "accept": ["largest-part", "python-bound", "eager-execution", "small-batch", "idle-device"],
    "rules": ["python-bound", "eager-execution", "small-batch", "idle-device"],
    "words": ["evaluate", "play", "greedy"],
    "part": "score",
}


class CartPole:
    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.state, self.t = self.rng.uniform(-0.05, 0.05, 4), 0
        return self.state

    def step(self, action):
        x, v, a, w = self.state
        force = 10.0 if action else -10.0
        push = (force + 0.05 * w * w * math.sin(a)) / 1.1
        turn = (9.8 * math.sin(a) - math.cos(a) * push) / (0.5 * (4 / 3 - 0.1 * math.cos(a) ** 2 / 1.1))
        move = push - 0.05 * turn * math.cos(a) / 1.1
        self.state = np.array([x + 0.02 * v, v + 0.02 * move, a + 0.02 * w, w + 0.02 * turn])
        self.t += 1
        return self.state, 1.0, abs(x) > 2.4 or self.t >= 30


class Agent(tf.Module):
    def __init__(self, hidden=256):
        super().__init__()
        self.w1 = tf.Variable(tf.random.normal([4, hidden], stddev=0.5))
        self.w2 = tf.Variable(tf.random.normal([hidden, hidden], stddev=0.06))
        self.policy = tf.Variable(tf.zeros([hidden, 2]))
        self.value = tf.Variable(tf.zeros([hidden, 1]))

    def __call__(self, states):
        h = tf.nn.tanh(tf.nn.tanh(states @ self.w1) @ self.w2)
        return h @ self.policy, (h @ self.value)[:, 0]


def greedy(agent, state):
    logits, _ = agent(tf.constant(state[None], tf.float32))
    return int(tf.argmax(logits[0]))  # planted


def play(agent, env):
    state, done, total = env.reset(), False, 0.0
    while not done:
        state, reward, done = env.step(greedy(agent, state))  # planted
        total += reward
    return total


def evaluate(agent, episodes=2):
    return np.mean([play(agent, CartPole(seed)) for seed in range(episodes)])


def main(clock):
    clock.plan(2, 2)
    tf.random.set_seed(0)
    rng = np.random.default_rng(0)
    agent = Agent()
    optimizer_rate, every, scores = 1e-3, 100 if clock.fixed else 1, []

    @tf.function
    def update(states, actions, returns):
        with tf.GradientTape() as tape:
            logits, values = agent(states)
            advantage = tf.stop_gradient(returns - values)
            chosen = tf.nn.sparse_softmax_cross_entropy_with_logits(actions, logits)
            loss = tf.reduce_mean(chosen * advantage) + 0.5 * tf.reduce_mean((returns - values) ** 2)
        for w, g in zip(agent.trainable_variables, tape.gradient(loss, agent.trainable_variables)):
            w.assign_sub(optimizer_rate * g)
        return loss

    for step in clock.loop():
        with clock.mark(step, "update"):
            states = rng.normal(0, 0.3, (4096, 4)).astype("float32")
            actions, returns = rng.integers(0, 2, 4096), rng.normal(20, 5, 4096).astype("float32")
            update(states, actions, returns)
            if (step + 1) % every == 0:
                scores.append(evaluate(agent))


if __name__ == "__main__":
    run(main)
