"""A model of the eye before a small net: differences of Gaussians of several sizes, as a layer."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "Gaussians of up to 31 by 31 are convolved as full squares; each is the product of a row and a column, two passes of 31 would do",
    "cause": "a costly way to compute the same",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["Retina", "blur_square", "DepthwiseConv2dNative", "depthwise_conv2d", "depthwise"],
    "part": "score",
}

SIDE, BATCH, KINDS, SIGMAS = 64, 8, 10, (1.0, 2.0, 3.0, 5.0)


def gaussian(sigma):
    reach = int(3 * sigma)
    g = np.exp(-np.arange(-reach, reach + 1) ** 2 / (2 * sigma**2))
    return (g / g.sum()).astype(np.float32)


def blur_square(x, g):
    kernel = np.tile(np.outer(g, g)[:, :, None, None], (1, 1, 3, 1))
    return tf.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME")  # planted


def blur_twice(x, g):
    row, column = (np.tile(g.reshape(shape), (1, 1, 3, 1)) for shape in ((1, -1, 1, 1), (-1, 1, 1, 1)))
    return tf.nn.depthwise_conv2d(tf.nn.depthwise_conv2d(x, row, [1, 1, 1, 1], "SAME"), column, [1, 1, 1, 1], "SAME")


class Retina(tf.keras.layers.Layer):
    def __init__(self, blur):
        super().__init__()
        self.blur, self.kernels = blur, [gaussian(sigma) for sigma in SIGMAS]

    def call(self, x):
        seen = [x] + [self.blur(x, g) for g in self.kernels]
        return tf.concat([a - b for a, b in zip(seen, seen[1:])], -1)


def main(clock):
    clock.plan(2, 4)
    rng = np.random.default_rng(0)
    pictures, kinds = rng.random((160, SIDE, SIDE, 3), np.float32), rng.integers(0, KINDS, 160)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((SIDE, SIDE, 3)),
            Retina(blur_twice if clock.fixed else blur_square),
            layers.Conv2D(24, 3, 2, activation="relu"),
            layers.Conv2D(32, 3, 2, activation="relu"),
            layers.Flatten(),
            layers.Dense(KINDS, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(pictures, kinds, batch_size=BATCH, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
