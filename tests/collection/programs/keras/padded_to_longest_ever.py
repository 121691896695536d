import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "short reviews are padded to the 256 words of the longest ever seen",
    "cause": "padding",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["padding", "ttention", "length"],
    "part": "develop",
}
WORDS, BATCH, LONGEST = 4000, 16, 48


class Encoder(tf.keras.layers.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.attend = tf.keras.layers.MultiHeadAttention(heads, width // heads)
        self.inner = tf.keras.layers.Dense(2 * width, activation="relu")
        self.outer = tf.keras.layers.Dense(width)
        self.first = tf.keras.layers.LayerNormalization()
        self.second = tf.keras.layers.LayerNormalization()

    def call(self, x):
        x = self.first(x + self.attend(x, x))
        return self.second(x + self.outer(self.inner(x)))


def main(clock):
    clock.plan(3, 8)
    length = LONGEST if clock.fixed else 256
    rng = np.random.default_rng(0)
    reviews = [rng.integers(1, WORDS, rng.integers(8, LONGEST)).tolist() for _ in range(400)]
    x = tf.keras.preprocessing.sequence.pad_sequences(reviews, maxlen=length, padding="post")  # planted
    y = rng.integers(0, 2, 400)
    words = tf.keras.Input((length,), dtype="int32")
    h = tf.keras.layers.Embedding(WORDS, 64)(words)
    h = Encoder(64, 4)(h)
    h = tf.keras.layers.GlobalAveragePooling1D()(h)
    model = tf.keras.Model(words, tf.keras.layers.Dense(1, activation="sigmoid")(h))
    model.compile("adam", "binary_crossentropy")
    model.fit(x, y, batch_size=BATCH, epochs=3, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
