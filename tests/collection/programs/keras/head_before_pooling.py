"""Tags for sounds, AudioSet in small: convolutions over a log-mel picture, 527 tags."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the linear layer to 527 tags goes over every cell of the map, and its outputs are averaged after; averaging first gives the same for one cell's work",
    "cause": "order of operations",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["TagHead", "tag_cells", "tag_head", "MatMul", "GlobalAveragePooling2D", "dot"],
    "part": "score",
}

FRAMES, MELS, TAGS, BATCH = 96, 64, 527, 8
L = tf.keras.layers


class TagHead(L.Layer):
    def __init__(self, pool_first):
        super().__init__()
        self.pool_first = pool_first
        self.tags, self.pool = L.Dense(TAGS), L.GlobalAveragePooling2D()

    def tag_cells(self, x):
        return self.pool(self.tags(x))  # planted

    def call(self, x):
        if self.pool_first:
            return self.tags(self.pool(x))
        return self.tag_cells(x)


def tagger(pool_first):
    mel = tf.keras.Input((FRAMES, MELS, 1))
    x = L.Conv2D(16, 5, 2, padding="same", activation="relu")(mel)
    for width in (32, 64, 128):
        x = L.DepthwiseConv2D(3, padding="same", activation="relu")(x)
        x = L.Conv2D(width, 1, activation="relu")(x)
    x = L.AveragePooling2D(2)(x)
    return tf.keras.Model(mel, TagHead(pool_first)(x))


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    mels = rng.normal(size=(128, FRAMES, MELS, 1)).astype("float32")
    tags = (rng.random((128, TAGS)) < 0.005).astype("float32")
    model = tagger(pool_first=clock.fixed)
    model.compile("sgd", tf.keras.losses.BinaryCrossentropy(from_logits=True))
    model.fit(mels, tags, batch_size=BATCH, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
