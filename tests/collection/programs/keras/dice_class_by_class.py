"""Organs in slices of a scan: a small net with a loss of overlaps."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the loss takes the overlap of each of 24 organs by a slice of its own, each of which backward fills up with zeros to the whole output; one sum over the image gives all",
    "cause": "too many pieces, each made whole again",
    "accept": ["largest-part", "dominant-op", "tiny-ops", "unfused-ops"],
    "rules": ["dominant-op", "tiny-ops", "unfused-ops"],
    "words": ["overlap_loss", "StridedSliceGrad", "StridedSlice", "strided_slice", "Pad", "AddN"],
    "part": "develop",
}

SIDE, BATCH, ORGANS = 64, 4, 24
L = tf.keras.layers


def overlap_loss(truth, found):
    total = 0.0
    for organ in range(ORGANS):
        t, f = truth[..., organ], found[..., organ]  # planted
        total += 1 - (2 * tf.reduce_sum(t * f) + 1) / (tf.reduce_sum(t) + tf.reduce_sum(f) + 1)  # planted
    return total / ORGANS


def overlap_loss_at_once(truth, found):
    places = [0, 1, 2]
    both = tf.reduce_sum(truth * found, places)
    return 1 - tf.reduce_mean((2 * both + 1) / (tf.reduce_sum(truth, places) + tf.reduce_sum(found, places) + 1))


def net():
    scan = tf.keras.Input((SIDE, SIDE, 1))
    a = L.Conv2D(16, 3, padding="same", activation="relu")(scan)
    b = L.Conv2D(32, 3, 2, padding="same", activation="relu")(a)
    b = L.Conv2D(32, 3, padding="same", activation="relu")(b)
    up = L.Concatenate()([L.UpSampling2D()(b), a])
    return tf.keras.Model(scan, L.Conv2D(ORGANS, 1, activation="softmax")(up))


def main(clock):
    clock.plan(2, 3)
    rng = np.random.default_rng(0)
    scans = rng.normal(size=(64, SIDE, SIDE, 1)).astype("float32")
    organs = np.eye(ORGANS, dtype="float32")[rng.integers(0, ORGANS, (64, SIDE, SIDE))]
    model = net()
    model.compile("sgd", overlap_loss_at_once if clock.fixed else overlap_loss)
    model.fit(scans, organs, batch_size=BATCH, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
