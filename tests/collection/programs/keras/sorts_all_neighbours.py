"""Parts of objects in clouds of points: edge convolutions over the nearest neighbours (DGCNN)."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each edge convolution sorts all 384 distances of every point to take the eight nearest",
    "cause": "an algorithm that does more than it must",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["nearest", "argsort", "TopKV2", "top_k", "sort"],
    "part": "score",
}

POINTS, NEAR, PARTS, BATCH = 384, 8, 6, 4


class EdgeConv(tf.keras.layers.Layer):
    def __init__(self, width, select):
        super().__init__()
        self.dense, self.select = tf.keras.layers.Dense(width, activation="relu"), select

    def nearest(self, x):
        square = tf.reduce_sum(x * x, -1)
        d = square[:, :, None] + square[:, None] - 2 * tf.matmul(x, x, transpose_b=True)
        if self.select:
            return tf.math.top_k(-d, NEAR, sorted=False).indices
        return tf.argsort(d, axis=-1)[:, :, :NEAR]  # planted

    def call(self, x):
        near = tf.gather(x, self.nearest(x), batch_dims=1)
        here = tf.repeat(x[:, :, None], NEAR, 2)
        return tf.reduce_max(self.dense(tf.concat([here, near - here], -1)), 2)


def part_net(select):
    points = tf.keras.Input((POINTS, 3))
    a = EdgeConv(32, select)(points)
    b = EdgeConv(48, select)(a)
    x = tf.keras.layers.Concatenate()([points, a, b])
    x = tf.keras.layers.Dense(64, activation="relu")(x)
    return tf.keras.Model(points, tf.keras.layers.Dense(PARTS, activation="softmax")(x))


def main(clock):
    clock.plan(3, 3)
    rng = np.random.default_rng(0)
    clouds = rng.normal(size=(48, POINTS, 3)).astype("float32")
    parts = rng.integers(0, PARTS, (48, POINTS))
    model = part_net(select=clock.fixed)
    model.compile("adam", "sparse_categorical_crossentropy")
    data = tf.data.Dataset.from_tensor_slices((clouds, parts)).repeat().batch(BATCH).prefetch(2)
    model.fit(data, steps_per_epoch=20, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
