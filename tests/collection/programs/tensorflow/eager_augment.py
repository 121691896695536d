import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every picture is augmented with eager ops before the compiled step",
    "cause": "augmentation op by op",
    "accept": ["eager-execution", "python-bound"],
    "rules": ["eager-execution", "python-bound"],
    "words": [
        "distort",
        "random_crop",
        "RandomCrop",
        "AdjustContrastv2",
        "ReverseV2",
        "AdjustHue",
        "AdjustSaturation",
    ],
    "part": "develop",
}


def distort(picture):
    picture = tf.image.random_flip_left_right(picture)  # planted
    picture = tf.image.random_contrast(picture, 0.8, 1.2)  # planted
    picture = tf.image.random_saturation(picture, 0.8, 1.2)  # planted
    return tf.image.random_crop(picture, [28, 28, 3])  # planted


def main(clock):
    clock.plan(2, 3)
    x = tf.random.uniform([8, 32, 32, 3])
    y = tf.zeros([8], tf.int64)
    kernel = tf.Variable(tf.random.normal([5, 5, 3, 16]) * 0.1)
    head = tf.Variable(tf.random.normal([16, 10]) * 0.1)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME"))
            logits = tf.matmul(tf.reduce_mean(hidden, [1, 2]), head)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            )
        for one, slope in zip((kernel, head), tape.gradient(loss, (kernel, head))):
            one.assign_sub(0.1 * slope)
        return loss

    for step in clock.loop():
        with clock.mark(step):
            batch = x[:, 2:30, 2:30] if clock.fixed else tf.stack([distort(one) for one in x])
            train_step(batch, y)


if __name__ == "__main__":
    run(main)
