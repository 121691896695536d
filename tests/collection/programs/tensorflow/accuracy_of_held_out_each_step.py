import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the accuracy on six held-out batches is taken after every step",
    "cause": "validation in every step",
    "accept": [],
    "rules": [],
    "words": ["pass without gradients", "accuracy_on", "held_out_accuracy"],
    "part": "develop",
}


class Classifier(tf.Module):
    def __init__(self, widths):
        super().__init__()
        self.weights = [
            tf.Variable(tf.random.normal(shape, stddev=0.05)) for shape in zip(widths, widths[1:])
        ]

    def __call__(self, x):
        for weights in self.weights[:-1]:
            x = tf.nn.relu(tf.matmul(x, weights))
        return tf.matmul(x, self.weights[-1])


def main(clock):
    clock.plan(4, 12)
    rng = np.random.default_rng(0)
    batches = [
        (
            tf.constant(rng.normal(size=(128, 192)).astype("float32")),
            tf.constant(rng.integers(0, 12, 128)),
        )
        for _ in range(10)
    ]
    net = Classifier([192, 512, 512, 12])

    @tf.function
    def fit(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=net(x))
            )
        for variable, gradient in zip(net.weights, tape.gradient(loss, net.weights)):
            variable.assign_sub(0.05 * gradient)
        return loss

    @tf.function
    def accuracy_on(x, y):
        return tf.reduce_mean(tf.cast(tf.equal(tf.argmax(net(x), -1), y), tf.float32))

    def held_out_accuracy():
        return float(np.mean([accuracy_on(x, y) for x, y in batches[4:]]))  # planted

    for step in clock.loop():
        with clock.mark(step):
            fit(*batches[step % 4])
            if not clock.fixed:
                held_out_accuracy()  # planted


if __name__ == "__main__":
    run(main)
