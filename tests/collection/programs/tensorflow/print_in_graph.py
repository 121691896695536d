import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "tf.print of the activations, left over in the compiled step",
    "cause": "printing",
    "accept": ["print-every-step", "print-in-graph"],
    "rules": ["print-every-step"],
    "words": ["Print", "StringFormat", "train_step"],
    "part": "develop",
}


def main(clock):
    clock.plan(3, 8)
    x = tf.random.normal([128, 784])
    y = tf.random.uniform([128], maxval=10, dtype=tf.int32)
    w1 = tf.Variable(tf.random.normal([784, 256]) * 0.05)
    w2 = tf.Variable(tf.random.normal([256, 10]) * 0.05)
    target = "file://" + str(Path(clock.folder) / "debug.txt")

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.matmul(x, w1))
            if not clock.fixed:
                tf.print("hidden:", hidden, summarize=-1, output_stream=target)  # planted
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=tf.matmul(hidden, w2))
            )
        for weight, grad in zip((w1, w2), tape.gradient(loss, (w1, w2))):
            weight.assign_sub(0.1 * grad)
        return loss

    for step in clock.loop():
        with clock.mark(step):
            train_step(x, y)


if __name__ == "__main__":
    run(main)
