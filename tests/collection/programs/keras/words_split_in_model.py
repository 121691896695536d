"""Spam or not: a text classifier that takes raw strings, for easy serving."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "TextVectorization is the first layer of the model, which splits and looks up the same messages again in each epoch",
    "cause": "preprocessing within the step",
    "accept": ["largest-part", "dominant-op", "no-cache", "input-bound"],
    "rules": ["dominant-op", "no-cache", "input-bound"],
    "words": ["TextVectorization", "text_vectorization", "StaticRegexReplace", "RegexReplace", "StringSplit", "StringLower", "vectoriser", "LookupTableFind"],
    "part": "develop",
}

VOCAB, LENGTH, BATCH, MESSAGES = 2000, 240, 48, 480


def messages():
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(VOCAB)])
    texts = [" ".join(words[rng.integers(0, VOCAB, LENGTH)]) + "!?" for _ in range(MESSAGES)]
    return np.array(texts), rng.integers(0, 2, MESSAGES).astype("float32"), list(words)


def net(x):
    x = layers.Embedding(VOCAB + 2, 48)(x)
    x = layers.Conv1D(64, 5, activation="relu")(x)
    x = layers.GlobalMaxPooling1D()(x)
    x = layers.Dropout(0.3)(x)
    return layers.Dense(1)(x)


def main(clock):
    clock.plan(3, 4)
    texts, y, words = messages()
    vectoriser = layers.TextVectorization(output_sequence_length=LENGTH, vocabulary=words)
    ds = tf.data.Dataset.from_tensor_slices((texts, y)).batch(BATCH, drop_remainder=True)
    if clock.fixed:
        tokens = keras.Input((LENGTH,), dtype="int64")
        model = keras.Model(tokens, net(tokens))
        ds = ds.map(lambda t, y: (vectoriser(t), y)).cache()
        for _ in ds:
            pass
    else:
        strings = keras.Input((1,), dtype="string")
        model = keras.Model(strings, net(vectoriser(strings)))  # planted
        ds = ds.map(lambda t, y: (t[:, None], y)).cache()
    model.compile(keras.optimizers.SGD(0.1), keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(ds.prefetch(tf.data.AUTOTUNE), epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
