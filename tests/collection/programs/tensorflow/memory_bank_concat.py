import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a contrastive memory bank is moved whole to add one batch",
    "cause": "copies of what does not change",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["enqueue", "ConcatV2", "concat"],
    "part": "develop",
}


def enqueue(bank, keys):
    bank.assign(tf.concat([bank[tf.shape(keys)[0] :], keys], 0))  # planted


def enqueue_in_place(bank, keys, step):
    size = tf.shape(keys)[0]
    rows = (step * size + tf.range(size)) % tf.shape(bank)[0]
    bank.scatter_update(tf.IndexedSlices(keys, rows))


def main(clock):
    clock.plan(3, 8)
    tf.random.set_seed(0)
    bank = tf.Variable(tf.random.normal([65_536, 128]))
    w = tf.Variable(tf.random.normal([256, 128], stddev=0.05))

    @tf.function
    def train_step(x, step):
        with tf.GradientTape() as tape:
            z = tf.math.l2_normalize(tf.matmul(x, w), 1)
            some = tf.random.uniform([256], maxval=65_536, dtype=tf.int32)
            negative = tf.matmul(z, tf.gather(bank, some), transpose_b=True)
            loss = tf.reduce_mean(tf.reduce_logsumexp(negative, 1))
        w.assign_sub(0.01 * tape.gradient(loss, w))
        if clock.fixed:
            enqueue_in_place(bank, z, step)
        else:
            enqueue(bank, z)
        return loss

    x = tf.random.normal([256, 256])
    for step in clock.loop():
        with clock.mark(step):
            loss = float(train_step(x, tf.constant(step)))


if __name__ == "__main__":
    run(main)
