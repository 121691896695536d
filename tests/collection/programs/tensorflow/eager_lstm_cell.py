import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "an LSTM written by hand, trained without tf.function",
    "cause": "eager execution",
    "accept": ["eager-execution"],
    "rules": ["eager-execution"],
    "words": ["train_step", "lstm_cell", "tf.function", "eager", "Eager"],
    "part": "develop",
}


def lstm_cell(x, h, c, kernel, bias):
    gates = tf.matmul(tf.concat([x, h], 1), kernel) + bias
    i, f, g, o = tf.split(gates, 4, axis=1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


def main(clock):
    clock.plan(2, 4)
    x = tf.random.normal([16, 12, 32])
    kernel = tf.Variable(tf.random.normal([32 + 48, 4 * 48]) * 0.1)
    bias = tf.Variable(tf.zeros([4 * 48]))

    def train_step(x):
        with tf.GradientTape() as tape:
            h = c = tf.zeros([16, 48])
            for t in range(x.shape[1]):
                h, c = lstm_cell(x[:, t], h, c, kernel, bias)  # planted
            loss = tf.reduce_mean(tf.square(h))
        grads = tape.gradient(loss, (kernel, bias))  # planted
        kernel.assign_sub(0.1 * grads[0])
        bias.assign_sub(0.1 * grads[1])
        return loss

    if clock.fixed:
        train_step = tf.function(train_step)
    for step in clock.loop():
        with clock.mark(step):
            train_step(x)  # planted


if __name__ == "__main__":
    run(main)
