"""Next item of a session (NextItNet): dilated causal convolutions over clicked items."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "all items are scored after every click of the session, and all scores but those after the last are thrown away",
    "cause": "order of operations",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["item_scores", "MatMul", "BiasAdd", "BiasAddGrad", "Tensordot"],
    "part": "develop",
}

ITEMS, LENGTH, DIM, BATCH = 2400, 30, 64, 48
L = tf.keras.layers


def block(x, rate):
    y = L.LayerNormalization()(x)
    y = L.Conv1D(2 * DIM, 3, padding="causal", dilation_rate=rate, activation="relu")(y)
    return L.Add()([x, L.Conv1D(DIM, 1)(y)])


def next_item(last_first):
    clicks = tf.keras.Input((LENGTH,), dtype="int32")
    x = L.Embedding(ITEMS, DIM)(clicks)
    for rate in (1, 2, 4, 8):
        x = block(x, rate)
    scores = L.Dense(ITEMS, name="item_scores")
    if last_first:
        return tf.keras.Model(clicks, scores(x[:, -1]))
    return tf.keras.Model(clicks, scores(x)[:, -1])  # planted


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    sessions = rng.integers(0, ITEMS, (BATCH * 8, LENGTH + 1)).astype("int32")
    model = next_item(last_first=clock.fixed)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss=loss)
    model.fit(sessions[:, :-1], sessions[:, -1], batch_size=BATCH, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
