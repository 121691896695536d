import random
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every batch of sentences has another length, and the function is traced for each",
    "cause": "retracing",
    "accept": ["retracing"],
    "rules": ["retracing"],
    "words": ["train_step", "trac"],
    "part": "develop",
}


def main(clock):
    clock.plan(2, 8)
    random.seed(1)
    embedding = tf.Variable(tf.random.normal([500, 64]) * 0.1)
    kernel = tf.Variable(tf.random.normal([128, 64]) * 0.1)
    lengths = list(range(20, 60))
    random.shuffle(lengths)

    @tf.function
    def train_step(tokens):
        with tf.GradientTape() as tape:
            state = tf.zeros([16, 64])
            x = tf.gather(embedding, tokens)
            for t in range(tokens.shape[1]):
                state = tf.tanh(tf.matmul(tf.concat([x[:, t], state], 1), kernel))
            loss = tf.reduce_mean(tf.square(state))
        grad = tape.gradient(loss, kernel)
        kernel.assign_sub(0.1 * grad)
        return loss

    for step in clock.loop():
        length = 40 if clock.fixed else lengths[step % len(lengths)]
        tokens = tf.random.uniform([16, length], maxval=500, dtype=tf.int32)
        with clock.mark(step):
            train_step(tokens)  # planted


if __name__ == "__main__":
    run(main)
