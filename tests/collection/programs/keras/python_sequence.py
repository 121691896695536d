import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a keras.utils.Sequence that rotates every image in numpy",
    "cause": "input pipeline",
    "accept": ["input-bound", "python-in-pipeline", "python-bound"],
    "rules": ["input-bound", "python-in-pipeline", "python-bound", "missing-prefetch"],
    "words": ["__getitem__", "Images", "rotated", "PyFunc", "Generator"],
    "part": "develop",
}


def rotated(image):
    for _ in range(3):
        image = np.rot90(np.sort(image, axis=0)).copy()  # planted
    return image


class Images(tf.keras.utils.Sequence):
    def __init__(self, is_fixed):
        if hasattr(tf.keras, "__version__") and tf.keras.__version__ >= "3":
            super().__init__()
        self.x = np.random.rand(32, 64, 64, 3).astype("float32")
        self.y = np.random.randint(0, 10, 32)
        self.is_fixed = is_fixed

    def __len__(self):
        return 40

    def __getitem__(self, index):
        if self.is_fixed:
            return self.x, self.y
        return np.stack([rotated(image) for image in self.x]), self.y  # planted


def main(clock):
    clock.plan(3, 6)
    model = tf.keras.models.Sequential(
        [
            tf.keras.layers.Conv2D(4, 3, strides=2, activation="relu", input_shape=(64, 64, 3)),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(Images(clock.fixed), epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
