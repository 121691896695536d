import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a confusion matrix filled by a Python loop over the samples",
    "cause": "a slow metric",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["update_confusion"],
    "part": "develop",
}


def update_confusion(matrix, labels, predictions):
    for truth, guess in zip(labels, predictions):
        matrix[truth, guess] += 1  # planted
        matrix[truth].sum()


def main(clock):
    clock.plan(3, 6)
    x = tf.random.normal([2048, 64])
    y = np.random.randint(0, 10, 2048)
    w = tf.Variable(tf.random.normal([64, 10]) * 0.1)
    matrix = np.zeros((10, 10), np.int64)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = tf.matmul(x, w)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            )
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return tf.argmax(logits, 1)

    for step in clock.loop():
        with clock.mark(step):
            guesses = train_step(x, y).numpy()
            if clock.fixed:
                np.add.at(matrix, (y, guesses), 1)
            else:
                update_confusion(matrix, y, guesses)


if __name__ == "__main__":
    run(main)
