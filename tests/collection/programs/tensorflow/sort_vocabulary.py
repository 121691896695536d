import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the whole vocabulary is sorted for the accuracy of the first five",
    "cause": "one op dominates",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["sort", "TopK", "Sort", "accuracy"],
    "family": "TopKV2",
    "part": "develop",
}


def accuracy(logits, y):
    order = tf.argsort(logits, axis=1, direction="DESCENDING")  # planted
    return tf.reduce_mean(tf.cast(tf.reduce_any(order[:, :5] == y[:, None], axis=1), tf.float32))


def main(clock):
    clock.plan(3, 6)
    x = tf.random.normal([64, 128])
    y = tf.random.uniform([64], maxval=8000, dtype=tf.int32)
    head = tf.Variable(tf.random.normal([128, 8000]) * 0.05)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = tf.matmul(x, head)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            )
        head.assign_sub(0.1 * tape.gradient(loss, head))
        if clock.fixed:
            return loss, tf.reduce_mean(tf.cast(tf.math.in_top_k(y, logits, 5), tf.float32))
        return loss, accuracy(logits, y)

    for step in clock.loop():
        with clock.mark(step):
            train_step(x, y)


if __name__ == "__main__":
    run(main)
