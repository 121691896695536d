"""Fraud in payments: a dense net, stopped when its loss becomes restless."""
import statistics
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "statistics.stdev goes over the last 20,000 losses in each step, in exact fractions",
    "cause": "Python work in each step",
    "accept": ["largest-part", "python-bound", "growing-steps"],
    "rules": ["python-bound", "growing-steps"],
    "words": ["statistics", "stdev", "_ss", "_exact_ratio", "is_restless", "Watchdog"],
    "part": "develop",
}

COLUMNS, BATCH = 64, 512


class Watchdog:
    """Raises an alarm when the loss of late spreads."""

    def __init__(self, window=20_000, limit=5.0):
        rng = np.random.default_rng(0)
        self.losses = rng.gamma(2.0, 0.2, window).tolist()  # the run goes on from a checkpoint
        self.window, self.limit = window, limit

    def is_restless(self, loss):
        self.losses.append(loss)
        recent = self.losses[-self.window :]
        return statistics.stdev(recent) > self.limit  # planted


class RunningWatchdog(Watchdog):
    def __init__(self, window=20_000, limit=5.0):
        super().__init__(window, limit)
        self.sum, self.squares = sum(self.losses), sum(x * x for x in self.losses)

    def is_restless(self, loss):
        oldest = self.losses[-self.window]
        self.losses.append(loss)
        self.sum += loss - oldest
        self.squares += loss * loss - oldest * oldest
        mean = self.sum / self.window
        return self.squares / self.window - mean * mean > self.limit**2


def fraud_net():
    layers = tf.keras.layers
    return tf.keras.Sequential([tf.keras.Input((COLUMNS,)), layers.Dense(512, "relu"), layers.Dense(256, "relu"), layers.Dense(1)])


def main(clock):
    clock.plan(3, 4)
    net, optimizer = fraud_net(), tf.keras.optimizers.SGD(1e-2)
    x = tf.random.normal([BATCH * 8, COLUMNS])
    y = tf.cast(tf.random.uniform([BATCH * 8, 1]) < 0.02, tf.float32)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).cache().repeat().prefetch(2)
    watchdog = RunningWatchdog() if clock.fixed else Watchdog()

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.weighted_cross_entropy_with_logits(y, net(x), 20.0))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return loss

    for step, (features, fraud) in enumerate(data):
        if clock.tick(step):
            break
        with clock.mark(step):
            loss = train_step(features, fraud)
            if watchdog.is_restless(float(loss)):  # planted
                raise SystemExit("restless")


if __name__ == "__main__":
    run(main)
