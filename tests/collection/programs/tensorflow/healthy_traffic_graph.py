"""Speeds on a road network: graph convolutions by a sparse matrix, a GRU cell over time."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "score"}

ROADS, LINKS, PAST, WIDTH, BATCH = 200, 1200, 8, 32, 8


def transition(rng):
    pairs = np.unique(rng.integers(0, ROADS, (LINKS, 2)), axis=0)
    weights = rng.random(len(pairs)).astype(np.float32)
    total = np.bincount(pairs[:, 0], weights, ROADS).astype(np.float32)
    return tf.sparse.reorder(tf.SparseTensor(pairs, weights / total[pairs[:, 0]], [ROADS, ROADS]))


class TrafficNet(tf.Module):
    def __init__(self, links):
        super().__init__()
        new = lambda a, b: tf.Variable(tf.random.normal([a, b]) * a**-0.5)
        self.links = links
        self.gates, self.candidate, self.out = new(2 * (1 + WIDTH), 2 * WIDTH), new(2 * (1 + WIDTH), WIDTH), new(WIDTH, 3)

    def spread(self, x):
        """Adds what neighbours say: (batch, roads, channels)."""
        flat = tf.reshape(tf.transpose(x, [1, 0, 2]), [ROADS, -1])
        near = tf.reshape(tf.sparse.sparse_dense_matmul(self.links, flat), [ROADS, -1, x.shape[-1]])
        return tf.concat([x, tf.transpose(near, [1, 0, 2])], -1)

    def __call__(self, speeds):
        state = tf.zeros([BATCH, ROADS, WIDTH])
        for now in tf.unstack(speeds, axis=1):
            r, z = tf.split(tf.sigmoid(self.spread(tf.concat([now, state], -1)) @ self.gates), 2, -1)
            new = tf.tanh(self.spread(tf.concat([now, r * state], -1)) @ self.candidate)
            state = z * state + (1 - z) * new
        return state @ self.out


def main(clock):
    clock.plan(3, 3)
    tf.random.set_seed(0)
    rng = np.random.default_rng(0)
    net = TrafficNet(transition(rng))
    past = rng.normal(size=(64, PAST, ROADS, 1)).astype("float32")
    future = rng.normal(size=(64, ROADS, 3)).astype("float32")

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(net(x) - y))
        for w, g in zip(net.trainable_variables, tape.gradient(loss, net.trainable_variables)):
            w.assign_sub(0.01 * g)
        return loss

    data = iter(tf.data.Dataset.from_tensor_slices((past, future)).shuffle(64).repeat().batch(BATCH).prefetch(2))
    for step in clock.loop():
        with clock.mark(step):
            train_step(*next(data))


if __name__ == "__main__":
    run(main)
