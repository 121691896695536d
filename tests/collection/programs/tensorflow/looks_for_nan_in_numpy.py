"""Heat flow: a graph of sensors, message passing, and a watch for numbers that are none."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "after each step every gradient is brought to NumPy and searched for NaN and infinity, value by value and with a percentile for the log; one reduction within the step would tell",
    "cause": "a check in each step on the host",
    "accept": ["largest-part", "python-bound", "host-copies", "host-waits", "idle-device"],
    "rules": ["python-bound", "host-copies", "host-waits", "idle-device"],
    "words": ["Sentinel", "inspect", "isfinite", "percentile", "partition"],
    "part": "score",
}

SENSORS, LINKS, WIDTH, ROUNDS = 200, 1200, 256, 2


class Sentinel:
    def __init__(self):
        self.seen = []

    def inspect(self, grads):
        row = []
        for grad in grads:
            values = grad.numpy()
            if not np.isfinite(values).all():  # planted
                raise FloatingPointError("gradients are not finite")
            row.append(np.percentile(np.abs(values), [50, 99, 99.9]))  # planted
        self.seen.append(row)


class FlowNet(tf.Module):
    def __init__(self):
        super().__init__()
        new = lambda a, b: tf.Variable(tf.random.normal([a, b]) * a**-0.5)
        self.encode, self.decode = new(4, WIDTH), new(WIDTH, 1)
        self.message = [new(2 * WIDTH, WIDTH) for _ in range(ROUNDS)]
        self.update = [new(2 * WIDTH, WIDTH) for _ in range(ROUNDS)]

    def __call__(self, x, source, target):
        h = x @ self.encode
        for message, update in zip(self.message, self.update):
            pair = tf.concat([tf.gather(h, source), tf.gather(h, target)], -1)
            sent = tf.math.unsorted_segment_sum(tf.nn.relu(pair @ message), target, SENSORS)
            h += tf.nn.relu(tf.concat([h, sent / 8.0], -1) @ update)
        return (h @ self.decode)[:, 0]


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(0)
    rng = np.random.default_rng(0)
    net, sentinel = FlowNet(), Sentinel()
    source, target = (tf.constant(rng.integers(0, SENSORS, LINKS)) for _ in range(2))

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((net(x, source, target) - y) ** 2)
        grads = tape.gradient(loss, net.trainable_variables)
        for w, g in zip(net.trainable_variables, grads):
            w.assign_sub(1e-3 * tf.clip_by_norm(g, 1.0))
        finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(g)) for g in grads])
        return loss, grads, finite

    for step in clock.loop():
        with clock.mark(step):
            x = rng.normal(size=(SENSORS, 4)).astype("float32")
            loss, grads, finite = train_step(x, x[:, 0])
            if not clock.fixed:
                sentinel.inspect(grads)
            elif not finite:
                raise FloatingPointError("gradients are not finite")


if __name__ == "__main__":
    run(main)
