import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a metric takes the multi-scale SSIM of every training batch",
    "cause": "costly metric",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["similarity", "ssim", "MeanMetricWrapper"],
    "part": "develop",
}


def similarity(y_true, y_pred):
    return tf.image.ssim(y_true, y_pred, max_val=1.0, filter_size=11)  # planted


def main(clock):
    clock.plan(4, 8)
    rng = np.random.default_rng(0)
    x = rng.random(size=(512, 48, 48, 3)).astype("float32")
    inputs = tf.keras.Input((48, 48, 3))
    h = tf.keras.layers.Conv2D(12, 5, strides=2, padding="same", activation="relu")(inputs)
    h = tf.keras.layers.Conv2D(24, 3, strides=2, padding="same", activation="relu")(h)
    h = tf.keras.layers.Conv2DTranspose(12, 3, strides=2, padding="same", activation="relu")(h)
    outputs = tf.keras.layers.Conv2DTranspose(3, 3, strides=2, padding="same", activation="sigmoid")(h)
    model = tf.keras.Model(inputs, outputs)
    model.compile("adam", "mse", metrics=[] if clock.fixed else [similarity])
    model.fit(x, x, batch_size=32, epochs=3, callbacks=clock.keras(), verbose=0)


if __name__ == "__main__":
    run(main)
