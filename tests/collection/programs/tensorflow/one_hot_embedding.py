import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "an embedding as product of one-hot vectors with the whole table",
    "cause": "one family of ops dominates",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["one_hot", "OneHot", "MatMul", "embed"],
    "family": "MatMul",
    "part": "develop",
}


def embed(tokens, table):
    return tf.matmul(tf.one_hot(tokens, 6000), table)  # planted


def main(clock):
    clock.plan(3, 5)
    tokens = tf.random.uniform([256], maxval=6000, dtype=tf.int32)
    table = tf.Variable(tf.random.normal([6000, 64]) * 0.1)
    head = tf.Variable(tf.random.normal([64, 64]) * 0.1)

    @tf.function
    def train_step(tokens):
        with tf.GradientTape() as tape:
            x = tf.gather(table, tokens) if clock.fixed else embed(tokens, table)
            loss = tf.reduce_mean(tf.square(tf.matmul(x, head)))
        g_table, g_head = tape.gradient(loss, (table, head))
        if isinstance(g_table, tf.IndexedSlices):
            table.scatter_sub(tf.IndexedSlices(0.1 * g_table.values, g_table.indices))
        else:
            table.assign_sub(0.1 * g_table)
        head.assign_sub(0.1 * g_head)
        return loss

    for step in clock.loop():
        with clock.mark(step):
            train_step(tokens)


if __name__ == "__main__":
    run(main)
