"""Cracks in photos of concrete: specks are taken out by a median before the net sees them."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from scipy import ndimage

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the median filter is generic_filter with np.median, a call of Python for each pixel, where SciPy has a median_filter",
    "cause": "Python work in the input",
    "accept": ["largest-part", "input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch", "no-cache"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch", "no-cache"],
    "words": ["generic_filter", "without_specks", "Patches", "__getitem__"],
    "part": "develop",
}

SIDE, BATCH, PHOTOS = 20, 3, 15


def without_specks(photo, by_median_filter):
    if by_median_filter:
        return ndimage.median_filter(photo, 3)
    return ndimage.generic_filter(photo, np.median, 3)  # planted


class Patches(tf.keras.utils.Sequence):
    def __init__(self, photos, labels, by_median_filter, **kwargs):
        super().__init__(**kwargs)
        self.photos, self.labels, self.by_median_filter = photos, labels, by_median_filter

    def __len__(self):
        return len(self.photos) // BATCH

    def __getitem__(self, index):
        rows = slice(index * BATCH, (index + 1) * BATCH)
        clean = [without_specks(photo, self.by_median_filter) for photo in self.photos[rows]]
        return np.stack(clean)[..., None], self.labels[rows]


def main(clock):
    clock.plan(2, 3)
    rng = np.random.default_rng(0)
    photos = rng.random((PHOTOS, SIDE, SIDE)).astype("float32")
    labels = rng.integers(0, 2, PHOTOS).astype("float32")
    data = Patches(photos, labels, by_median_filter=clock.fixed)
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Conv2D(48, 3, padding="same", activation="relu"), layers.Conv2D(64, 3, padding="same", activation="relu"), layers.MaxPooling2D(), layers.Conv2D(96, 3, activation="relu"), layers.GlobalAveragePooling2D(), layers.Dense(1)])
    model.compile("adam", tf.keras.losses.BinaryCrossentropy(from_logits=True))
    model.fit(data, epochs=1, shuffle=False, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
