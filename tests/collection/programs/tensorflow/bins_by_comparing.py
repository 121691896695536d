"""Credit risk from a table: each numeric feature becomes a learned vector of its quantile."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a value's bin is found by comparing it with all 255 borders and counting those below; borders are sorted, a binary search would do",
    "cause": "an algorithm that does more than it must",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["bins_of", "Greater", "Cast"],
    "part": "score",
}

FEATURES, BORDERS, DIM, BATCH = 48, 255, 8, 2048


def quantiles(table):
    return np.quantile(table, np.linspace(0, 1, BORDERS + 2)[1:-1], axis=0).T.astype(np.float32)


class BinnedNet(tf.Module):
    def __init__(self, borders, search):
        super().__init__()
        self.borders, self.search = tf.constant(borders), search
        self.vectors = tf.Variable(tf.random.normal([FEATURES * (BORDERS + 1), DIM], stddev=0.1))
        new = lambda a, b: tf.Variable(tf.random.normal([a, b]) * a**-0.5)
        self.hidden, self.out = new(FEATURES * DIM, 64), new(64, 1)

    def bins_of(self, x):
        if self.search:
            return tf.transpose(tf.searchsorted(self.borders, tf.transpose(x)))
        above = x[:, :, None] > self.borders[None]  # planted
        return tf.reduce_sum(tf.cast(above, tf.int32), -1)  # planted

    def __call__(self, x):
        at = self.bins_of(x) + tf.range(FEATURES) * (BORDERS + 1)
        h = tf.reshape(tf.gather(self.vectors, at), [-1, FEATURES * DIM])
        return (tf.nn.relu(h @ self.hidden) @ self.out)[:, 0]


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(0)
    rng = np.random.default_rng(0)
    table = rng.lognormal(size=(20_000, FEATURES)).astype(np.float32)
    default = (table[:, 0] > 3).astype(np.float32)
    net = BinnedNet(quantiles(table), search=clock.fixed)
    optimizer = tf.keras.optimizers.Adagrad(0.05)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, net(x)))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            at = rng.integers(0, len(table), BATCH)
            loss = train_step(table[at], default[at])
            loss.numpy()


if __name__ == "__main__":
    run(main)
