import math
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "gradients are clipped by a Python loop over numpy copies of them",
    "cause": "gradient clipping in Python",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["clip_gradients"],
    "part": "develop",
}


def clip_gradients(grads, limit):
    total = 0.0
    for grad in grads:
        for row in grad.numpy():
            total += float(np.dot(row, row))  # planted
    scale = min(1.0, limit / (math.sqrt(total) + 1e-6))
    return [tf.constant(grad.numpy() * scale) for grad in grads]


def main(clock):
    clock.plan(3, 6)
    x = tf.random.normal([32, 256])
    weights = [tf.Variable(tf.random.normal([256, 256]) * 0.05) for _ in range(12)]

    @tf.function
    def gradients(x):
        with tf.GradientTape() as tape:
            y = x
            for w in weights:
                y = y + tf.nn.relu(tf.matmul(y, w))
            loss = tf.reduce_mean(tf.square(y))
        grads = tape.gradient(loss, weights)
        if clock.fixed:
            grads, _ = tf.clip_by_global_norm(grads, 1.0)
        return grads

    @tf.function
    def apply(grads):
        for w, g in zip(weights, grads):
            w.assign_sub(0.01 * g)

    for step in clock.loop():
        with clock.mark(step):
            grads = gradients(x)
            if not clock.fixed:
                grads = clip_gradients(grads, 1.0)  # planted
            apply(grads)


if __name__ == "__main__":
    run(main)
