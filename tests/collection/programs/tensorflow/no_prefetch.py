import sys
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "batches are fetched from a slow store only when the step asks for one",
    "cause": "input pipeline",
    "accept": ["missing-prefetch", "input-bound", "python-in-pipeline"],
    "rules": ["missing-prefetch", "input-bound", "python-in-pipeline", "host-input-limit", "few-input-threads"],
    "words": ["fetch_rows", "Generator", "prefetch", "PyFunc"],
    "part": "develop",
}


def fetch_rows():
    while True:
        time.sleep(0.01)  # a row of a store far away
        yield np.random.rand(64, 1024).astype(np.float32)


def main(clock):
    clock.plan(3, 8)
    ds = tf.data.Dataset.from_generator(fetch_rows, tf.float32, [64, 1024])
    if clock.fixed:
        ds = ds.prefetch(2)
    weights = [
        tf.Variable(tf.random.normal([1024, 2048]) * 0.02),
        tf.Variable(tf.random.normal([2048, 1024]) * 0.02),
    ]

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.matmul(x, weights[0]))
            loss = tf.reduce_mean(tf.square(tf.matmul(hidden, weights[1]) - x))
        for weight, grad in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(0.01 * grad)
        return loss

    batches = iter(ds)  # planted
    for step in clock.loop():
        with clock.mark(step):
            train_step(next(batches))


if __name__ == "__main__":
    run(main)
