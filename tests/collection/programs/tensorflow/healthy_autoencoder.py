import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def main(clock):
    clock.plan(3, 7)
    rows = np.random.rand(2048, 512).astype(np.float32)
    ds = tf.data.Dataset.from_tensor_slices(rows).batch(256).cache().repeat().prefetch(2)
    shapes = [(512, 1024), (1024, 128), (128, 1024), (1024, 512)]
    weights = [tf.Variable(tf.random.normal(shape, stddev=0.03)) for shape in shapes]

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            y = x
            for weight in weights:
                y = tf.tanh(tf.matmul(y, weight))
            loss = tf.reduce_mean(tf.square(y - x))
        for weight, grad in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(0.05 * grad)
        return loss

    for step, x in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            loss = train_step(x)
    return float(loss)


if __name__ == "__main__":
    run(main)
