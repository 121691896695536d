"""Galaxy images from one HDF5 file, shuffled: a Sequence for fit."""
import os
import sys
from pathlib import Path

import h5py
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the generator reads shuffled rows one at a time from an HDF5 file: each unpacks a whole compressed chunk",
    "cause": "input",
    "accept": ["largest-part", "input-bound", "python-in-pipeline", "file-reads", "python-bound", "host-input-limit", "missing-prefetch"],
    "rules": ["input-bound", "python-in-pipeline", "file-reads", "python-bound", "host-input-limit", "missing-prefetch"],
    "words": ["h5py", "Galaxies"],
    "part": "develop",
}

SIZE, ROWS, CHUNK, BATCH = 48, 320, 80, 32


def write_file(path):
    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as f:
        images = rng.integers(0, 24, (ROWS, SIZE, SIZE, 3), dtype="uint8")
        f.create_dataset("images", data=images, chunks=(CHUNK, SIZE, SIZE, 3), compression="gzip", compression_opts=1)
        f.create_dataset("labels", data=rng.integers(0, 5, ROWS))
    return path


class Galaxies(tf.keras.utils.Sequence):
    def __init__(self, path, batch, by_chunk, **kwargs):
        super().__init__(**kwargs)
        self.file = h5py.File(path, "r")
        self.batch, self.by_chunk = batch, by_chunk
        self.on_epoch_end()

    def __len__(self):
        return ROWS // self.batch

    def on_epoch_end(self):
        self.order = np.random.permutation(ROWS)
        self.starts = np.random.permutation(len(self))

    def __getitem__(self, index):
        if self.by_chunk:
            at = self.starts[index] * self.batch
            x, y = self.file["images"][at : at + self.batch], self.file["labels"][at : at + self.batch]
        else:
            rows = self.order[index * self.batch : (index + 1) * self.batch]
            x = np.stack([self.file["images"][i] for i in rows])  # planted
            y = self.file["labels"][:][rows]
        return x.astype("float32") / 255.0, y

    def close(self):
        self.file.close()


def make_model():
    model = tf.keras.Sequential(name="galaxy")
    for width in (16, 32, 64):
        model.add(tf.keras.layers.Conv2D(width, 3, padding="same", activation="relu"))
        model.add(tf.keras.layers.MaxPooling2D())
    model.add(tf.keras.layers.Flatten())
    model.add(tf.keras.layers.Dense(5))
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    return model


def main(clock):
    clock.plan(4, 6)
    path = os.path.join(clock.folder, "galaxies.h5")
    if not os.path.exists(path):
        write_file(path)
    data = Galaxies(path, BATCH, by_chunk=clock.fixed)
    make_model().fit(data, epochs=1, verbose=0, shuffle=False, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
