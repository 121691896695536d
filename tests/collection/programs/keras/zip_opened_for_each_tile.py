import io
import os
import sys
import zipfile
from pathlib import Path

import numpy as np
import tensorflow as tf
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the archive of satellite tiles is opened again for each tile, and its directory read and parsed each time",
    "cause": "input, file by file",
    "accept": ["largest-part", "input-bound", "python-in-pipeline", "file-reads", "python-bound", "host-input-limit", "missing-prefetch"],
    "rules": ["input-bound", "python-in-pipeline", "file-reads", "python-bound", "host-input-limit", "missing-prefetch"],
    "words": ["zipfile", "ZipFile", "_RealGetContents", "Tiles", "read_tile"],
    "part": "develop",
}

SIZE, BATCH, TILES = 32, 12, 96


def write_archive(path):
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(path, "w") as z:
        for i in range(TILES):
            buffer = io.BytesIO()
            Image.fromarray(rng.integers(0, 255, (SIZE, SIZE, 3), dtype="uint8")).save(buffer, "PNG", compress_level=1)
            z.writestr(f"tiles/{i // 10:02d}/{i:05d}.png", buffer.getvalue())


class Tiles(tf.keras.utils.Sequence):
    """Land use by tile (EuroSAT)."""

    def __init__(self, path, keep_open, **kwargs):
        super().__init__(**kwargs)
        self.path = path
        self.archive = zipfile.ZipFile(path) if keep_open else None
        self.labels = np.random.default_rng(1).integers(0, 10, TILES)

    def __len__(self):
        return TILES // BATCH

    def read_tile(self, i):
        name = f"tiles/{i // 10:02d}/{i:05d}.png"
        if self.archive is not None:
            data = self.archive.read(name)
        else:
            with zipfile.ZipFile(self.path) as z:  # planted
                data = z.read(name)
        return np.asarray(Image.open(io.BytesIO(data)), "float32") / 255.0

    def __getitem__(self, index):
        rows = range(index * BATCH, (index + 1) * BATCH)
        return np.stack([self.read_tile(i) for i in rows]), self.labels[rows.start : rows.stop]


def main(clock):
    clock.plan(3, 3)
    path = os.path.join(clock.folder, "eurosat.zip")
    if not os.path.exists(path):
        write_archive(path)
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Conv2D(32, 3, 2, activation="relu"), layers.Conv2D(64, 3, 2, activation="relu"), layers.GlobalAveragePooling2D(), layers.Dense(10, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    data = Tiles(path, keep_open=clock.fixed)
    model.fit(data, epochs=1, shuffle=False, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
