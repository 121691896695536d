import math
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the positional encoding is computed in Python again in every step",
    "cause": "the same constant made again",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["positional_encoding"],
    "part": "develop",
}


def positional_encoding(length, depth):
    table = np.zeros((length, depth), np.float32)
    for position in range(length):
        for i in range(0, depth, 2):
            angle = position / math.pow(10000.0, i / depth)  # planted
            table[position, i] = math.sin(angle)  # planted
            table[position, i + 1] = math.cos(angle)  # planted
    return table


def main(clock):
    clock.plan(3, 6)
    x = tf.random.normal([1, 192, 64])
    wq, wk, wv = (tf.Variable(tf.random.normal([64, 64]) * 0.1) for _ in range(3))
    ready = positional_encoding(192, 64)

    @tf.function
    def train_step(x, positions):
        with tf.GradientTape() as tape:
            h = x + positions
            q, k, v = (tf.einsum("btd,de->bte", h, w) for w in (wq, wk, wv))
            scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 8.0)
            loss = tf.reduce_mean(tf.square(tf.matmul(scores, v) - x))
        for w, g in zip((wq, wk, wv), tape.gradient(loss, (wq, wk, wv))):
            w.assign_sub(0.1 * g)
        return loss

    for step in clock.loop():
        with clock.mark(step):
            positions = ready if clock.fixed else positional_encoding(192, 64)  # planted
            train_step(x, tf.constant(positions))


if __name__ == "__main__":
    run(main)
