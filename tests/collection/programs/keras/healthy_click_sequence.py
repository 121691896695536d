"""What is bought next: embeddings of clicks, a causal self-attention block, sampled negatives."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "score"}

ITEMS, LENGTH, DIM, NEGATIVES, BATCH = 3000, 32, 64, 64, 64
L = tf.keras.layers


def shop_net():
    clicks, candidates = tf.keras.Input((LENGTH,), dtype="int32"), tf.keras.Input((NEGATIVES,), dtype="int32")
    items = L.Embedding(ITEMS, DIM)
    x = items(clicks)
    for _ in range(2):
        x = L.LayerNormalization()(L.Add()([x, L.MultiHeadAttention(2, 32)(x, x, use_causal_mask=True)]))
        h = L.Dense(2 * DIM, activation="relu")(x)
        x = L.LayerNormalization()(L.Add()([x, L.Dense(DIM)(h)]))
    last = L.Lambda(lambda t: t[:, -1])(x)
    return tf.keras.Model([clicks, candidates], L.Dot(axes=(1, 2))([last, items(candidates)]))


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    clicks = rng.integers(0, ITEMS, (2048, LENGTH), "int32")
    candidates = rng.integers(0, ITEMS, (2048, NEGATIVES), "int32")
    # The first candidate is the one that was bought.
    bought = np.zeros(2048, "int32")
    model = shop_net()
    model.compile(tf.keras.optimizers.SGD(0.1), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit([clicks, candidates], bought, batch_size=BATCH, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
