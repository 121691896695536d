"""Intents of short requests to a bank's assistant: lists of word numbers, padded and one-hot labels."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "before each call of train_on_batch the whole data set's lists are padded and shuffled again to take 64 of them",
    "cause": "setup inside of the loop",
    "accept": ["largest-part", "python-bound", "input-bound", "idle-device"],
    "rules": ["python-bound", "input-bound", "idle-device"],
    "words": ["next_batch", "pad_sequences", "to_padded", "Requests"],
    "part": "score",
}

WORDS, LONGEST, INTENTS, REQUESTS, BATCH = 1500, 20, 77, 4000, 64


class Requests:
    def __init__(self, rng, once):
        self.rng = rng
        self.lists = [rng.integers(1, WORDS, rng.integers(4, LONGEST + 6)).tolist() for _ in range(REQUESTS)]
        self.intents = rng.integers(0, INTENTS, REQUESTS)
        self.padded = self.to_padded() if once else None

    def to_padded(self):
        return tf.keras.utils.pad_sequences(self.lists, LONGEST, padding="post", truncating="post")  # planted

    def next_batch(self):
        padded = self.to_padded() if self.padded is None else self.padded  # planted
        at = self.rng.permutation(REQUESTS)[:BATCH]
        return padded[at], tf.keras.utils.to_categorical(self.intents[at], INTENTS)


def intent_net():
    layers = tf.keras.layers
    words = tf.keras.Input((LONGEST,), dtype="int32")
    x = layers.Embedding(WORDS, 64)(words)
    near = [layers.GlobalMaxPooling1D()(layers.Conv1D(64, k, padding="same", activation="relu")(x)) for k in (2, 3, 5)]
    x = layers.Dropout(0.3)(layers.Concatenate()(near))
    return tf.keras.Model(words, layers.Dense(INTENTS, activation="softmax")(x))


def main(clock):
    clock.plan(3, 5)
    requests = Requests(np.random.default_rng(0), once=clock.fixed)
    model = intent_net()
    model.compile(tf.keras.optimizers.SGD(0.1), "categorical_crossentropy")
    for step in clock.loop():
        with clock.mark(step):
            x, y = requests.next_batch()
            loss = model.train_on_batch(x, y)
    return loss


if __name__ == "__main__":
    run(main)
