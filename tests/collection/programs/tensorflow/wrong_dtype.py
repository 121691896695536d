import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "numpy's default made the whole model float64",
    "cause": "float64",
    "accept": ["float64", "double-precision"],
    "rules": ["float64", "double-precision"],
    "words": ["float64", "double", "MatMul"],
    "family": "MatMul",
    "part": "develop",
}


def main(clock):
    clock.plan(3, 8)
    kind = np.float32 if clock.fixed else np.float64
    x = tf.constant(np.random.randn(256, 784).astype(kind))  # planted
    w1 = tf.Variable(np.random.randn(784, 512).astype(kind) * 0.05)  # planted
    w2 = tf.Variable(np.random.randn(512, 784).astype(kind) * 0.05)

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.matmul(x, w1))
            loss = tf.reduce_mean(tf.square(tf.matmul(hidden, w2) - x))
        g1, g2 = tape.gradient(loss, (w1, w2))
        w1.assign_sub(0.1 * g1)
        w2.assign_sub(0.1 * g2)
        return loss

    for step in clock.loop():
        with clock.mark(step):
            train_step(x)


if __name__ == "__main__":
    run(main)
