import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def main(clock):
    clock.plan(3, 5)
    random = np.random.default_rng(0)
    x, y = random.random((256, 64, 64, 3), np.float32), random.integers(0, 3, (256, 64, 64, 1))
    layers = tf.keras.layers
    conv = lambda width: layers.Conv2D(width, 3, padding="same", activation="relu")
    inputs = tf.keras.Input((64, 64, 3))
    a = conv(16)(inputs)
    b = conv(32)(layers.MaxPooling2D()(a))
    c = conv(32)(layers.UpSampling2D()(b))
    outputs = layers.Conv2D(3, 1, activation="softmax")(conv(16)(layers.Concatenate()([a, c])))
    model = tf.keras.Model(inputs, outputs)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256).repeat().batch(16).prefetch(2)
    model.fit(ds, steps_per_epoch=12, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
