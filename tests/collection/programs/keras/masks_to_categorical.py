"""Land use from aerial pictures: a small encoder and decoder over 48 classes."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "masks of full size become one-hot cubes of 48 classes by to_categorical in each batch, of which every sixteenth place is kept, for a loss that has a sparse form",
    "cause": "a huge intermediate",
    "accept": ["largest-part", "input-bound", "python-bound", "host-input-limit", "missing-prefetch", "host-copies", "python-in-pipeline"],
    "rules": ["input-bound", "python-bound", "host-input-limit", "missing-prefetch", "host-copies", "python-in-pipeline"],
    "words": ["to_categorical", "LandUse", "__getitem__", "categorical_crossentropy"],
    "part": "develop",
}

SIDE, CLASSES, BATCH, PICTURES = 96, 48, 6, 60


class LandUse(tf.keras.utils.Sequence):
    def __init__(self, pictures, masks, sparse, **kwargs):
        super().__init__(**kwargs)
        self.pictures, self.masks, self.sparse = pictures, masks, sparse

    def __len__(self):
        return len(self.pictures) // BATCH

    def __getitem__(self, index):
        rows = slice(index * BATCH, (index + 1) * BATCH)
        masks = self.masks[rows]
        if not self.sparse:
            masks = tf.keras.utils.to_categorical(masks, CLASSES)  # planted
        return self.pictures[rows], masks[:, ::4, ::4]


def segmenter():
    layers = tf.keras.layers
    return tf.keras.Sequential([
        layers.Conv2D(16, 3, 2, padding="same", activation="relu"),
        layers.Conv2D(24, 3, 2, padding="same", activation="relu"),
        layers.Conv2D(CLASSES, 1),
    ])


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    pictures = rng.random((PICTURES, SIDE, SIDE, 3), dtype="float32")
    masks = rng.integers(0, CLASSES, (PICTURES, SIDE, SIDE)).astype("uint8")
    model = segmenter()
    losses = tf.keras.losses
    loss = losses.SparseCategoricalCrossentropy(from_logits=True) if clock.fixed else losses.CategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss)
    model.fit(LandUse(pictures, masks, sparse=clock.fixed), epochs=1, shuffle=False, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
