"""Speakers from speech: x-vectors with an additive margin."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "healthy",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}

MELS, FRAMES, SPEAKERS, WIDTH, BATCH = 40, 120, 200, 160, 24


class XVector(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.frame = [
            layers.Conv1D(WIDTH, 5, activation="relu"),
            layers.Conv1D(WIDTH, 3, dilation_rate=2, activation="relu"),
            layers.Conv1D(WIDTH, 3, dilation_rate=3, activation="relu"),
            layers.Conv1D(384, 1, activation="relu"),
        ]
        self.segment = layers.Dense(128)

    def call(self, x):
        for layer in self.frame:
            x = layer(x)
        mean, var = tf.nn.moments(x, 1)
        return self.segment(tf.concat([mean, tf.sqrt(var + 1e-5)], -1))


def margin_loss(embedded, centres, labels, margin=0.2, scale=30.0):
    cosine = tf.matmul(tf.nn.l2_normalize(embedded, -1), tf.nn.l2_normalize(centres, -1), transpose_b=True)
    logits = scale * (cosine - margin * tf.one_hot(labels, SPEAKERS))
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def main(clock):
    clock.plan(4, 5)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((256, FRAMES, MELS)).astype("float32")
    y = rng.integers(0, SPEAKERS, 256)
    ds = tf.data.Dataset.from_tensor_slices((x, y)).cache().shuffle(256).repeat()
    ds = ds.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    net = XVector()
    net(x[:1])
    centres = tf.Variable(tf.random.normal([SPEAKERS, 128], stddev=0.1))
    optimizer = tf.keras.optimizers.SGD(0.05, momentum=0.9)

    @tf.function
    def train_step(x, y):
        weights = [*net.trainable_variables, centres]
        with tf.GradientTape() as tape:
            loss = margin_loss(net(x, training=True), centres, y)
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    for step, (x, y) in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(x, y)


if __name__ == "__main__":
    run(main)
