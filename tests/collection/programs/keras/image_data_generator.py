"""Cats and dogs with ImageDataGenerator, as in so many notebooks."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "ImageDataGenerator turns and shifts each image alone, by SciPy in Python",
    "cause": "input pipeline too slow",
    "accept": ["largest-part", "input-bound", "python-in-pipeline", "host-input-limit", "python-bound", "gil-contention", "missing-prefetch", "input-takes-cores"],
    "rules": ["input-bound", "python-in-pipeline", "python-bound", "host-input-limit", "largest-part", "input-takes-cores"],
    "words": ["ImageDataGenerator", "apply_affine_transform", "affine_transform", "NumpyArrayIterator", "random_transform"],
    "part": "develop",
}

CFG = {"side": 80, "batch": 32, "classes": 2, "rotation": 25, "shift": 0.15, "zoom": 0.2}


def scipy_flow(x, y):
    augment = tf.keras.preprocessing.image.ImageDataGenerator(
        rotation_range=CFG["rotation"],
        width_shift_range=CFG["shift"],
        height_shift_range=CFG["shift"],
        zoom_range=CFG["zoom"],
        horizontal_flip=True,
        fill_mode="nearest",
    )
    return augment.flow(x, y, batch_size=CFG["batch"], seed=1)  # planted


def random_affine(x, y):
    """The same for a whole batch in one op."""
    n = tf.shape(x)[0]
    angle = tf.random.uniform([n], -1.0, 1.0) * CFG["rotation"] * np.pi / 180
    zoom = tf.random.uniform([n], 1 - CFG["zoom"], 1 + CFG["zoom"])
    flip = tf.where(tf.random.uniform([n]) < 0.5, -1.0, 1.0)
    dx, dy = (tf.random.uniform([n], -CFG["shift"], CFG["shift"]) * CFG["side"] for _ in range(2))
    cos, sin, half = tf.cos(angle) * zoom, tf.sin(angle) * zoom, CFG["side"] / 2
    a, b, c, d = flip * cos, -sin, flip * sin, cos
    rows = [a, b, half - a * half - b * half + dx, c, d, half - c * half - d * half + dy, 0 * a, 0 * a]
    x = tf.raw_ops.ImageProjectiveTransformV3(
        images=x,
        transforms=tf.stack(rows, 1),
        output_shape=tf.constant([CFG["side"], CFG["side"]]),
        fill_value=0.0,
        interpolation="BILINEAR",
        fill_mode="NEAREST",
    )
    return x, y


def tensor_flow(x, y):
    data = tf.data.Dataset.from_tensor_slices((x, y)).cache().shuffle(len(x)).batch(CFG["batch"])
    return data.map(random_affine, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def build_model():
    layers = tf.keras.layers
    model = tf.keras.Sequential([tf.keras.Input((CFG["side"], CFG["side"], 3))])
    for filters in (16, 32, 64):
        model.add(layers.Conv2D(filters, 3, padding="same", activation="relu"))
        model.add(layers.MaxPooling2D(2))
    model.add(layers.Flatten())
    model.add(layers.Dense(128, activation="relu"))
    model.add(layers.Dropout(0.4))
    model.add(layers.Dense(1, activation="sigmoid"))
    return model


def main(clock):
    clock.plan(4, 6)
    rng = np.random.default_rng(0)
    x = rng.random((CFG["batch"] * 11, CFG["side"], CFG["side"], 3)).astype(np.float32)
    y = rng.integers(0, 2, len(x)).astype(np.float32)
    model = build_model()
    model.compile(optimizer="rmsprop", loss="binary_crossentropy", metrics=["accuracy"])
    flow = tensor_flow(x, y) if clock.fixed else scipy_flow(x, y)
    model.fit(flow, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
