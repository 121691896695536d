"""A net for Burgers' equation: residuals at random points, compiled by XLA."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "healthy",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}

WIDTH, DEPTH, POINTS, NU, LR = 160, 4, 1024, 0.01 / np.pi, 1e-3


class Net(tf.Module):
    def __init__(self):
        super().__init__()
        sizes = [2] + [WIDTH] * DEPTH + [1]
        self.ws = [tf.Variable(tf.random.normal([a, b], stddev=(2 / (a + b)) ** 0.5)) for a, b in zip(sizes, sizes[1:])]
        self.bs = [tf.Variable(tf.zeros([b])) for b in sizes[1:]]

    def __call__(self, t, x):
        h = tf.concat([t, x], 1)
        for w, b in zip(self.ws[:-1], self.bs[:-1]):
            h = tf.tanh(h @ w + b)
        return h @ self.ws[-1] + self.bs[-1]


def residual(net, t, x):
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape(persistent=True) as first:
            first.watch([t, x])
            u = net(t, x)
        u_x = first.gradient(u, x)
        u_t = first.gradient(u, t)
    return u_t + u * u_x - NU * second.gradient(u_x, x)


def main(clock):
    clock.plan(4, 5)
    net = Net()
    weights = net.trainable_variables
    moments = [tf.Variable(tf.zeros_like(w), trainable=False) for w in weights]

    @tf.function(jit_compile=True)
    def train_step(points, edge):
        t, x = tf.split(points, 2, 1)
        with tf.GradientTape() as tape:
            start = net(tf.zeros_like(edge), edge) + tf.sin(np.pi * edge)
            loss = tf.reduce_mean(residual(net, t, x) ** 2) + tf.reduce_mean(start**2)
        for w, m, g in zip(weights, moments, tape.gradient(loss, weights)):
            m.assign(0.9 * m + g)
            w.assign_sub(LR * m)
        return loss

    rng = np.random.default_rng(0)
    points = rng.uniform([0, -1], [1, 1], (POINTS * 8, 2)).astype("float32")
    edge = rng.uniform(-1, 1, (256 * 8, 1)).astype("float32")
    ds = tf.data.Dataset.from_tensor_slices((points.reshape(8, POINTS, 2), edge.reshape(8, 256, 1)))
    batches = iter(ds.cache().repeat().prefetch(tf.data.AUTOTUNE))
    for step in clock.loop():
        with clock.mark(step):
            train_step(*next(batches))


if __name__ == "__main__":
    run(main)
