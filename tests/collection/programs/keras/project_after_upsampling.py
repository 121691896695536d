"""Depth from one picture: a small encoder and a decoder by upsampling."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, Model, layers

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "features are enlarged fourfold before the convolution of one pixel that reduces their channels: sixteen times its work, for the same values",
    "cause": "order of operations",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["project", "ResizeNearestNeighbor", "ResizeNearestNeighborGrad", "UpSampling2D", "up_sampling2d", "Conv2D"],
    "part": "develop",
}


def conv(filters, size=3, strides=1, **kwargs):
    return layers.Conv2D(filters, size, strides, padding="same", activation="relu", **kwargs)


def decode(x, project_first):
    project = layers.Conv2D(16, 1, name="project")
    grow = layers.UpSampling2D(4, interpolation="nearest")
    if project_first:
        return grow(project(x))
    return project(grow(x))  # planted


def depth_net(project_first):
    image = Input((96, 96, 3))
    x = conv(24, 5, 2)(image)
    x = conv(48, 3, 2)(x)
    x = conv(128, 3)(x)
    x = decode(x, project_first)
    x = conv(8)(x)
    return Model(image, layers.Conv2D(1, 3, padding="same", name="depth")(x))


def scale_invariant(truth, guess):
    d = guess - truth
    return tf.reduce_mean(d * d) - 0.5 * tf.reduce_mean(d) ** 2


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    images = rng.random((48, 96, 96, 3), "float32")
    depths = rng.random((48, 96, 96, 1), "float32")
    model = depth_net(project_first=clock.fixed)
    model.compile(tf.keras.optimizers.Adam(1e-4), scale_invariant, metrics=["mae"])
    ds = tf.data.Dataset.from_tensor_slices((images, depths)).batch(4).cache().prefetch(2)
    model.fit(ds, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
