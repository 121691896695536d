"""Uplift of coupons: a model of two arms, whose gain is watched while it learns."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the confidence interval of the gain is drawn by 30 bootstrap samples of the holdout after every training step",
    "cause": "a metric that costs more than the model",
    "accept": ["largest-part", "python-bound", "idle-device"],
    "rules": ["python-bound", "idle-device"],
    "words": ["bootstrap", "GainWatch", "interval"],
    "part": "develop",
}

CUSTOMERS, HOLDOUT, FIELDS, WIDTH, BATCH = 20_000, 5000, 40, 384, 512


class GainWatch:
    """Gain of the best third over all, with an interval."""

    def __init__(self, predict, x, bought, treated, every):
        self.predict, self.x, self.bought, self.treated, self.every = predict, x, bought, treated, every
        self.rng, self.seen, self.history = np.random.default_rng(1), 0, []

    def gain(self, uplift, bought, treated):
        best = uplift >= np.quantile(uplift, 2 / 3)
        rate = lambda rows: bought[rows].mean() if rows.any() else 0.0
        return rate(best & treated) - rate(best & ~treated)

    def bootstrap(self, uplift, rounds=30):
        gains = []
        for _ in range(rounds):
            rows = self.rng.integers(0, len(uplift), len(uplift))  # planted
            gains.append(self.gain(uplift[rows], self.bought[rows], self.treated[rows]))  # planted
        return np.quantile(gains, [0.025, 0.975])

    def watch(self):
        self.seen += 1
        if self.seen % self.every == 0:
            uplift = self.predict(self.x).numpy()
            self.history.append(self.bootstrap(uplift))


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(CUSTOMERS, FIELDS)).astype("float32")
    treated, bought = rng.random(CUSTOMERS) < 0.5, rng.random(CUSTOMERS) < 0.2
    shapes = ([FIELDS, WIDTH], [WIDTH, WIDTH], [WIDTH, 2])
    weights = [tf.Variable(tf.random.normal(s) * s[0] ** -0.5) for s in shapes]

    def both_arms(x):
        for w in weights[:-1]:
            x = tf.nn.relu(x @ w)
        return x @ weights[-1]

    @tf.function
    def predict(x):
        chances = tf.sigmoid(both_arms(x))
        return chances[:, 1] - chances[:, 0]

    @tf.function
    def train_step(x, arm, bought):
        with tf.GradientTape() as tape:
            logits = tf.gather(both_arms(x), arm, batch_dims=1)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(bought, logits))
        for w, g in zip(weights, tape.gradient(loss, weights)):
            w.assign_sub(0.05 * g)
        return loss

    held = slice(0, HOLDOUT)
    watch = GainWatch(predict, x[held], bought[held], treated[held], every=1000 if clock.fixed else 1)
    for step in clock.loop():
        with clock.mark(step):
            rows = rng.integers(HOLDOUT, CUSTOMERS, BATCH)
            train_step(x[rows], treated[rows].astype("int32"), bought[rows].astype("float32"))
            watch.watch()


if __name__ == "__main__":
    run(main)
