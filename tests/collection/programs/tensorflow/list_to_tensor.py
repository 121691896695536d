import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "batches are nested lists of Python floats, turned into a tensor in every step",
    "cause": "conversion of Python lists",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["as_tensor", "convert_to_eager_tensor", "tf.constant", "convert_to_tensor", "constant"],
    "part": "develop",
}


def as_tensor(rows):
    return tf.constant(rows, tf.float32)  # planted


def main(clock):
    clock.plan(3, 8)
    rows = [[float(i * j % 7) for i in range(512)] for j in range(256)]
    ready = tf.constant(rows, tf.float32)
    w = tf.Variable(tf.random.normal([512, 64]) * 0.05)

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
        w.assign_sub(0.001 * tape.gradient(loss, w))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            train_step(ready if clock.fixed else as_tensor(rows))


if __name__ == "__main__":
    run(main)
