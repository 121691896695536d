import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a tf.while_loop goes row by row through what is one matrix product",
    "cause": "a loop inside of the graph",
    "accept": ["tiny-ops", "graph-loop"],
    "rules": ["tiny-ops", "graph-loop"],
    "words": ["while", "While", "TensorList", "row_by_row"],
    "part": "develop",
}


def row_by_row(x, w):
    rows = tf.TensorArray(tf.float32, size=x.shape[0])
    for i in tf.range(x.shape[0]):
        rows = rows.write(i, tf.linalg.matvec(w, x[i], transpose_a=True))  # planted
    return rows.stack()


def main(clock):
    clock.plan(3, 4)
    x = tf.random.normal([96, 64])
    w = tf.Variable(tf.random.normal([64, 64]) * 0.1)

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            y = tf.matmul(x, w) if clock.fixed else row_by_row(x, w)
            loss = tf.reduce_mean(tf.square(y - x))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            train_step(x)


if __name__ == "__main__":
    run(main)
