import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "short reviews are padded to the 200 tokens that the example pads to",
    "cause": "padding",
    "accept": ["padding", "graph-loop"],
    "rules": ["padding", "dominant-op", "graph-loop"],
    "words": ["load_reviews", "pad_sequences", "lstm", "LSTM", "while"],
    "part": "develop",
}


def load_reviews(count, maxlen):
    random = np.random.default_rng(0)
    reviews = [random.integers(1, 2000, random.integers(10, 40)).tolist() for _ in range(count)]
    x = tf.keras.preprocessing.sequence.pad_sequences(reviews, maxlen=maxlen)  # planted
    return x, random.integers(0, 2, count)


def main(clock):
    clock.plan(1, 2)
    x, y = load_reviews(640, 40 if clock.fixed else 200)
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Embedding(2000, 32), layers.LSTM(32), layers.Dense(1, activation="sigmoid")])
    model.compile("rmsprop", "binary_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=64, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
