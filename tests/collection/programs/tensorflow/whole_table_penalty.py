import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a penalty on the whole embedding table makes its sparse gradient dense",
    "cause": "dense updates of a sparse thing",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["table_penalty", "L2Loss", "penalty", "AssignSubVariableOp"],
    "part": "develop",
}


def table_penalty(tables):
    return 1e-6 * tf.add_n([tf.nn.l2_loss(table) for table in tables])  # planted


def rows_penalty(rows):
    return 1e-6 * tf.add_n([tf.nn.l2_loss(row) for row in rows])


def main(clock):
    clock.plan(3, 6)
    tf.random.set_seed(0)
    users = tf.Variable(tf.random.normal([100_000, 32], stddev=0.1))
    items = tf.Variable(tf.random.normal([50_000, 32], stddev=0.1))
    rate = 0.1

    @tf.function
    def train_step(user, item, rating):
        with tf.GradientTape() as tape:
            u, i = tf.gather(users, user), tf.gather(items, item)
            loss = tf.reduce_mean((tf.reduce_sum(u * i, 1) - rating) ** 2)
            loss += rows_penalty([u, i]) if clock.fixed else table_penalty([users, items])
        for table, grad in zip((users, items), tape.gradient(loss, (users, items))):
            if isinstance(grad, tf.IndexedSlices):
                table.scatter_sub(tf.IndexedSlices(rate * grad.values, grad.indices))
            else:
                table.assign_sub(rate * grad)
        return loss

    user = tf.random.uniform([8192], maxval=100_000, dtype=tf.int32)
    item = tf.random.uniform([8192], maxval=50_000, dtype=tf.int32)
    rating = tf.random.uniform([8192], maxval=5.0)
    for step in clock.loop():
        with clock.mark(step):
            loss = float(train_step(user, item, rating))


if __name__ == "__main__":
    run(main)
