"""PETS: an ensemble of probabilistic dynamics models for a planner."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the small networks of an ensemble are trained one after the other, each with an optimizer of its own",
    "cause": "many tiny ops and calls instead of a batch of networks",
    "accept": ["largest-part", "launch-bound", "tiny-kernels", "python-bound", "slow-launches", "optimizer-per-variable", "no-xla", "roofline-gap"],
    "rules": ["launch-bound", "tiny-kernels", "python-bound", "optimizer-per-variable", "largest-part"],
    "words": ["train_member", "Member"],
    "part": "develop",
}

CONFIG = dict(members=12, obs=17, action=6, hidden=200, depth=3, batch=64, lr=1e-3, decay=1e-4)


def nll(mean, log_var, target):
    return tf.reduce_mean((mean - target) ** 2 * tf.exp(-log_var) + log_var)


class Member:
    def __init__(self, config):
        sizes = [config["obs"] + config["action"]] + [config["hidden"]] * config["depth"] + [2 * config["obs"]]
        init = tf.keras.initializers.GlorotUniform()
        self.weights = [tf.Variable(init((a, b))) for a, b in zip(sizes, sizes[1:])]
        self.biases = [tf.Variable(tf.zeros(b)) for b in sizes[1:]]
        self.optimizer = tf.keras.optimizers.Adam(config["lr"])
        self.decay = config["decay"]
        self.train_member = tf.function(self._train_member)

    def __call__(self, x):
        for w, b in zip(self.weights[:-1], self.biases[:-1]):
            x = tf.nn.silu(x @ w + b)
        mean, log_var = tf.split(x @ self.weights[-1] + self.biases[-1], 2, -1)
        return mean, tf.clip_by_value(log_var, -10.0, 0.5)

    def _train_member(self, x, y):
        variables = self.weights + self.biases
        with tf.GradientTape() as tape:
            loss = nll(*self(x), y) + self.decay * tf.add_n([tf.nn.l2_loss(w) for w in self.weights])
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


class Ensemble:
    """All members in one array each, as the paper's code has it."""

    def __init__(self, config):
        e = config["members"]
        sizes = [config["obs"] + config["action"]] + [config["hidden"]] * config["depth"] + [2 * config["obs"]]
        self.weights = [tf.Variable(tf.random.normal((e, a, b), stddev=a**-0.5)) for a, b in zip(sizes, sizes[1:])]
        self.biases = [tf.Variable(tf.zeros((e, 1, b))) for b in sizes[1:]]
        self.optimizer = tf.keras.optimizers.Adam(config["lr"])
        self.decay = config["decay"]

    @tf.function
    def train(self, x, y):
        variables = self.weights + self.biases
        with tf.GradientTape() as tape:
            hidden = x
            for w, b in zip(self.weights[:-1], self.biases[:-1]):
                hidden = tf.nn.silu(hidden @ w + b)
            mean, log_var = tf.split(hidden @ self.weights[-1] + self.biases[-1], 2, -1)
            loss = len(x) * nll(mean, tf.clip_by_value(log_var, -10.0, 0.5), y)
            loss += self.decay * tf.add_n([tf.nn.l2_loss(w) for w in self.weights])
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


class Transitions:
    def __init__(self, config, count=20_000):
        rng = np.random.default_rng(0)
        self.x = rng.normal(size=(count, config["obs"] + config["action"])).astype(np.float32)
        self.y = np.tanh(self.x @ rng.normal(size=(self.x.shape[1], config["obs"]))).astype(np.float32)
        self.index = rng.integers(0, count, (config["members"], count))
        self.size = config["batch"]

    def bootstrap(self, step):
        at = step * self.size % (self.index.shape[1] - self.size)
        rows = self.index[:, at : at + self.size]
        return self.x[rows], self.y[rows]


def main(clock):
    clock.plan(3, 3)
    data = Transitions(CONFIG)
    whole = Ensemble(CONFIG) if clock.fixed else None
    members = [] if clock.fixed else [Member(CONFIG) for _ in range(CONFIG["members"])]
    for step in clock.loop():
        with clock.mark(step):
            x, y = data.bootstrap(step)
            if whole is not None:
                loss = whole.train(tf.constant(x), tf.constant(y))
            else:
                losses = [one.train_member(tf.constant(a), tf.constant(b)) for one, a, b in zip(members, x, y)]  # planted
                loss = tf.reduce_mean(losses)
            loss.numpy()


if __name__ == "__main__":
    run(main)
