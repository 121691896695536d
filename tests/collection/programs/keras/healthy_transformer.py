import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def main(clock):
    clock.plan(3, 6)
    layers = tf.keras.layers
    tokens = layers.Input([64])
    h = layers.Embedding(2000, 96)(tokens)
    for _ in range(2):
        a = layers.MultiHeadAttention(4, 24)(h, h)
        h = layers.LayerNormalization()(layers.Add()([h, a]))
        f = layers.Dense(96)(layers.Dense(384, activation="relu")(h))
        h = layers.LayerNormalization()(layers.Add()([h, f]))
    out = layers.Dense(2, activation="softmax")(layers.GlobalAveragePooling1D()(h))
    model = tf.keras.Model(tokens, out)
    model.compile("adam", "sparse_categorical_crossentropy")
    x = np.random.randint(0, 2000, (512, 64))
    y = np.random.randint(0, 2, 512)
    model.fit(x, y, batch_size=32, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
