"""Supervised contrastive learning of fabrics: embeddings of one kind attract each other."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the loss goes through the anchors one by one with map_fn; one matrix of all pairs gives the same",
    "cause": "a loop inside of the graph",
    "accept": ["largest-part", "graph-loop", "tiny-ops", "dominant-op"],
    "rules": ["graph-loop", "tiny-ops", "dominant-op"],
    "words": ["contrast_one", "map_fn", "while", "While", "TensorList"],
    "part": "score",
}

SIDE, KINDS, BATCH, DIM = 16, 16, 80, 64


def contrastive_by_anchor(labels, z):
    labels = tf.cast(tf.reshape(labels, [-1]), tf.int32)
    z = tf.math.l2_normalize(z, -1)

    def contrast_one(i):
        similar = tf.linalg.matvec(z, z[i]) / 0.1  # planted
        others = 1.0 - tf.one_hot(i, BATCH)
        same = tf.cast(labels == labels[i], tf.float32) * others
        logp = similar - tf.math.log(tf.reduce_sum(tf.exp(similar) * others) + 1e-9)
        return -tf.reduce_sum(same * logp) / (tf.reduce_sum(same) + 1e-9)

    return tf.reduce_mean(tf.map_fn(contrast_one, tf.range(BATCH), fn_output_signature=tf.float32))  # planted


def contrastive(labels, z):
    labels = tf.cast(tf.reshape(labels, [-1]), tf.int32)
    z = tf.math.l2_normalize(z, -1)
    similar = tf.matmul(z, z, transpose_b=True) / 0.1
    others = 1.0 - tf.eye(BATCH)
    same = tf.cast(labels[:, None] == labels[None], tf.float32) * others
    logp = similar - tf.math.log(tf.reduce_sum(tf.exp(similar) * others, 1, keepdims=True) + 1e-9)
    return tf.reduce_mean(-tf.reduce_sum(same * logp, 1) / (tf.reduce_sum(same, 1) + 1e-9))


def encoder():
    image = tf.keras.Input((SIDE, SIDE, 3))
    x = image
    for width in (16, 32):
        x = tf.keras.layers.Conv2D(width, 3, 2, padding="same", activation="relu")(x)
    x = tf.keras.layers.GlobalAveragePooling2D()(x)
    return tf.keras.Model(image, tf.keras.layers.Dense(DIM)(x))


def main(clock):
    clock.plan(3, 2)
    rng = np.random.default_rng(0)
    fabrics = rng.random((960, SIDE, SIDE, 3), np.float32)
    kinds = rng.integers(0, KINDS, 960).astype("float32")
    model = encoder()
    model.compile(tf.keras.optimizers.SGD(0.05), contrastive if clock.fixed else contrastive_by_anchor)
    model.fit(fabrics, kinds, batch_size=BATCH, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
