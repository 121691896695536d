"""Person re-identification by triplets, batch-all (Hermans et al. 2017)."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow import keras

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the loss makes a cube of all anchors by positives by negatives, most of which are masked; batch-hard needs a square",
    "cause": "algorithm",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["batch_all", "valid_triplets"],
    "part": "develop",
}

cfg = dict(people=32, shots=4, size=32, dim=64, margin=0.3, lr=3e-4, epochs=2, steps=24)


def pairwise(e):
    dot = tf.matmul(e, e, transpose_b=True)
    square = tf.linalg.diag_part(dot)
    return tf.maximum(square[:, None] - 2.0 * dot + square[None, :], 0.0)


def valid_triplets(labels):
    n = tf.shape(labels)[0]
    other = tf.logical_not(tf.eye(n, dtype=tf.bool))
    same = labels[:, None] == labels[None, :]
    distinct = other[:, :, None] & other[:, None, :] & other[None, :, :]  # planted
    return distinct & same[:, :, None] & ~same[:, None, :]  # planted


def batch_all(labels, e, margin):
    d = pairwise(e)
    loss = d[:, :, None] - d[:, None, :] + margin  # planted
    loss = tf.maximum(loss * tf.cast(valid_triplets(labels), tf.float32), 0.0)  # planted
    positive = tf.reduce_sum(tf.cast(loss > 1e-16, tf.float32))  # planted
    return tf.reduce_sum(loss) / (positive + 1e-16)


def batch_hard(labels, e, margin):
    d = pairwise(e)
    same = tf.cast(labels[:, None] == labels[None, :], tf.float32)
    far, near = tf.reduce_max(d * same, 1), tf.reduce_min(d + 1e6 * same, 1)
    return tf.reduce_mean(tf.maximum(far - near + margin, 0.0))


class ReID(keras.Model):
    def __init__(self, mine):
        super().__init__()
        self.mine = mine
        self.convs = [keras.layers.Conv2D(w, 3, 2, "same", activation="relu") for w in (24, 48, 64)]
        self.pool = keras.layers.GlobalAveragePooling2D()
        self.embed = keras.layers.Dense(cfg["dim"])
        self.tracker = keras.metrics.Mean(name="loss")

    def call(self, x, training=False):
        for conv in self.convs:
            x = conv(x)
        return tf.math.l2_normalize(self.embed(self.pool(x)), -1)

    def train_step(self, data):
        images, labels = data
        with tf.GradientTape() as tape:
            loss = self.mine(labels, self(images, training=True), cfg["margin"])
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        self.tracker.update_state(loss)
        return {"loss": self.tracker.result()}


def identities():
    n = cfg["people"] * cfg["shots"]
    rng = np.random.default_rng(0)
    x = rng.random((n * 4, cfg["size"], cfg["size"], 3), "float32")
    y = np.tile(np.repeat(np.arange(cfg["people"]), cfg["shots"]), 4).astype("int32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(n).cache().repeat().prefetch(2)


def main(clock):
    clock.plan(3, 5)
    model = ReID(batch_hard if clock.fixed else batch_all)
    model.compile(optimizer=keras.optimizers.Adam(cfg["lr"]))
    model.fit(identities(), steps_per_epoch=cfg["steps"], epochs=cfg["epochs"], verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
