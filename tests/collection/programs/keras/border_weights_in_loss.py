"""U-Net for cells, with the weights of borders between them in its loss."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from scipy import ndimage
from tensorflow.keras import layers

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the loss computes the weights of borders in NumPy for every batch, though masks do not change",
    "cause": "work done again",
    "accept": ["largest-part", "print-every-step", "dominant-op"],
    "rules": ["print-every-step"],
    "words": ["PyFunc", "weighted_bce"],
    "part": "develop",
}

SIZE, BATCH = 64, 8


def make_cells(n, rng):
    masks = np.zeros((n, SIZE, SIZE, 1), np.float32)
    yy, xx = np.mgrid[:SIZE, :SIZE]
    for mask in masks:
        for _ in range(24):
            (cy, cx), r = rng.integers(8, SIZE - 8, 2), rng.integers(2, 4)
            mask[(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] = 1
    return masks + rng.normal(size=masks.shape).astype(np.float32) * 0.2, masks


def border_weights(masks, w0=10.0, sigma=5.0):
    out = np.ones_like(masks)
    for k, mask in enumerate(masks[..., 0]):
        labelled, count = ndimage.label(mask)  # planted
        if count < 2:
            continue
        away = np.stack([ndimage.distance_transform_edt(labelled != i) for i in range(1, count + 1)])  # planted
        away.sort(axis=0)
        border = w0 * np.exp(-((away[0] + away[1]) ** 2) / (2 * sigma**2))
        out[k, ..., 0] += border * (labelled == 0)
    return out.astype(np.float32)


def weighted_bce(truth, predicted):
    if truth.shape[-1] == 2:
        truth, weights = truth[..., :1], truth[..., 1:]
    else:
        weights = tf.ensure_shape(tf.numpy_function(border_weights, [truth], tf.float32), (None, SIZE, SIZE, 1))  # planted
    predicted = tf.clip_by_value(predicted, 1e-6, 1 - 1e-6)
    ce = -(truth * tf.math.log(predicted) + (1 - truth) * tf.math.log(1 - predicted))
    return tf.reduce_mean(weights * ce)


def unet():
    inputs = layers.Input((SIZE, SIZE, 1))
    c1 = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    c2 = layers.Conv2D(16, 3, padding="same", activation="relu")(layers.MaxPooling2D()(c1))
    u1 = layers.concatenate([layers.UpSampling2D()(c2), c1])
    c3 = layers.Conv2D(8, 3, padding="same", activation="relu")(u1)
    return tf.keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(c3))


def main(clock):
    clock.plan(4, 6)
    rng = np.random.default_rng(0)
    images, masks = make_cells(BATCH * 16, rng)
    if clock.fixed:
        masks = np.concatenate([masks, border_weights(masks)], -1)
    model = unet()
    model.compile("sgd", loss=weighted_bce)
    train = tf.data.Dataset.from_tensor_slices((images, masks)).shuffle(100).batch(BATCH).prefetch(2)
    model.fit(train, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
