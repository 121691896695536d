import re
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a tokeniser of regular expressions in py_function, mapped over the sentences",
    "cause": "Python in the input pipeline",
    "accept": ["no-cache", "python-in-pipeline", "input-bound", "serial-map"],
    "rules": ["no-cache", "python-in-pipeline", "input-bound", "missing-prefetch", "serial-map"],
    "words": ["tokenise", "PyFunc", "Map"],
    "part": "develop",
}
TEXT = "The quick brown fox, named Rex-2000, jumps over 13 lazy dogs; they don't mind at all! " * 30


def tokenise(text):
    words = re.findall(r"[a-z]+(?:'[a-z]+)?|\d+|[^\w\s]", text.numpy().decode().lower())  # planted
    ids = [sum(map(ord, word)) % 1000 for word in words]  # planted
    return tf.constant((ids + [0] * 100)[:100], tf.int32)


def encode(text):
    ids = tf.py_function(tokenise, [text], tf.int32)
    ids.set_shape([100])
    return ids, 1.0


def main(clock):
    clock.plan(3, 6)
    ds = tf.data.Dataset.from_tensor_slices([TEXT] * 16).map(encode)  # planted
    ds = ds.cache().repeat() if clock.fixed else ds.repeat()
    ds = ds.batch(16).prefetch(1)
    model = tf.keras.models.Sequential(
        [
            tf.keras.layers.Embedding(1000, 32),
            tf.keras.layers.GlobalAveragePooling1D(),
            tf.keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy")
    model.fit(ds, steps_per_epoch=clock.last, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
