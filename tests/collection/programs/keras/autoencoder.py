import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "an autoencoder whose convolutions are far too wide",
    "cause": "one family of ops dominates",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["Conv2D", "conv"],
    "family": "Conv2D",
    "part": "develop",
}


def main(clock):
    clock.plan(3, 5)
    layers = tf.keras.layers
    wide = 8 if clock.fixed else 48
    model = tf.keras.models.Sequential(
        [
            layers.Conv2D(wide, 3, activation="relu", padding="same", input_shape=(28, 28, 1)),  # planted
            layers.MaxPooling2D(2),
            layers.Conv2D(wide, 3, activation="relu", padding="same"),  # planted
            layers.UpSampling2D(2),
            layers.Conv2D(wide, 3, activation="relu", padding="same"),  # planted
            layers.Conv2D(1, 3, activation="sigmoid", padding="same"),
        ]
    )
    model.compile("adam", "mse")
    x = np.random.rand(128, 28, 28, 1).astype("float32")
    model.fit(x, x, batch_size=16, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
