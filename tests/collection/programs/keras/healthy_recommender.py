"""Clicks by a deep factorisation machine, on data in memory."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

FIELDS, BUCKETS, DIM, BATCH = 16, 500, 16, 512
L = tf.keras.layers


class FieldEmbedding(L.Layer):
    """One table for all fields, with an offset for each."""

    def build(self, shape):
        self.table = self.add_weight(name="table", shape=(FIELDS * BUCKETS, DIM), initializer="random_normal")

    def call(self, ids):
        return tf.gather(self.table, ids + tf.range(FIELDS) * BUCKETS)


def pairwise(x):
    return 0.5 * tf.reduce_sum(tf.square(tf.reduce_sum(x, 1)) - tf.reduce_sum(tf.square(x), 1), 1, keepdims=True)


def deep_fm():
    ids = tf.keras.Input((FIELDS,), dtype="int32")
    x = FieldEmbedding()(ids)
    deep = L.Flatten()(x)
    for width in (400, 400, 400):
        deep = L.Dense(width, activation="relu")(deep)
    second = L.Lambda(pairwise, output_shape=(1,))(x)
    return tf.keras.Model(ids, L.Activation("sigmoid")(L.Add()([L.Dense(1)(deep), second])))


def main(clock):
    clock.plan(4, 5)
    rng = np.random.default_rng(0)
    ids = rng.integers(0, BUCKETS, (BATCH * 12, FIELDS)).astype("int32")
    clicks = rng.integers(0, 2, (len(ids), 1)).astype("float32")
    model = deep_fm()
    model.compile(tf.keras.optimizers.SGD(0.05), "binary_crossentropy", metrics=["accuracy"])
    data = tf.data.Dataset.from_tensor_slices((ids, clicks)).batch(BATCH).cache().prefetch(2)
    model.fit(data, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
