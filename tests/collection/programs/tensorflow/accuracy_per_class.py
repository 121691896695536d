import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "precision and recall are counted class by class with small eager ops",
    "cause": "a slow metric",
    "accept": ["python-bound", "eager-execution"],
    "rules": ["python-bound", "eager-execution"],
    "words": ["report_classes", "Equal", "LogicalAnd", "logical_and", "reduce_sum"],
    "part": "develop",
}


def report_classes(labels, guesses, classes):
    rows = []
    for one in range(classes):
        is_true, is_said = tf.equal(labels, one), tf.equal(guesses, one)  # planted
        both = tf.reduce_sum(tf.cast(tf.logical_and(is_true, is_said), tf.float32))  # planted
        said = tf.reduce_sum(tf.cast(is_said, tf.float32))  # planted
        true = tf.reduce_sum(tf.cast(is_true, tf.float32))  # planted
        rows.append((both / (said + 1e-6), both / (true + 1e-6)))  # planted
    return rows


def main(clock):
    clock.plan(3, 4)
    x = tf.random.normal([1024, 128])
    y = tf.constant(np.random.randint(0, 20, 1024), tf.int64)
    w = tf.Variable(tf.random.normal([128, 20]) * 0.1)

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
            guesses = train_step(x, y)
            if not clock.fixed:
                report_classes(y, guesses, 20)


if __name__ == "__main__":
    run(main)
