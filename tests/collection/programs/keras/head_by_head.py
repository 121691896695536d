"""Named entities by a small Transformer, attention written out as in the tutorial."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each of sixteen heads is a layer with projections of its own: 192 narrow matrix products instead of a few wide ones",
    "cause": "many tiny ops",
    "accept": ["largest-part", "tiny-ops", "tiny-kernels", "launch-bound", "dominant-op", "unfused-ops"],
    "rules": ["tiny-ops", "tiny-kernels", "launch-bound", "dominant-op", "unfused-ops"],
    "words": ["one_head", "all_heads", "HeadByHead", "head_by_head"],
    "part": "develop",
}

WORDS, TAGS, LENGTH, WIDTH, HEADS, BATCH = 3000, 9, 32, 128, 16, 8
L = tf.keras.layers


class Head(L.Layer):
    def __init__(self, size, **kwargs):
        super().__init__(**kwargs)
        self.size = size
        self.q, self.k, self.v = (L.Dense(size, use_bias=False) for _ in range(3))

    def call(self, x):
        return self.one_head(x)

    def one_head(self, x):
        scores = tf.matmul(self.q(x), self.k(x), transpose_b=True) / self.size**0.5  # planted
        return tf.matmul(tf.nn.softmax(scores), self.v(x))  # planted


class HeadByHead(L.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.heads = [Head(WIDTH // HEADS) for _ in range(HEADS)]
        self.out = L.Dense(WIDTH)

    def call(self, x):
        return self.out(self.all_heads(x))

    def all_heads(self, x):
        return tf.concat([head(x) for head in self.heads], -1)  # planted


class AllHeads(L.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.qkv, self.out = L.Dense(3 * WIDTH, use_bias=False), L.Dense(WIDTH)

    def call(self, x):
        parts = tf.reshape(self.qkv(x), [-1, LENGTH, 3, HEADS, WIDTH // HEADS])
        q, k, v = tf.unstack(tf.transpose(parts, [2, 0, 3, 1, 4]))
        scores = tf.matmul(q, k, transpose_b=True) / (WIDTH // HEADS) ** 0.5
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [0, 2, 1, 3])
        return self.out(tf.reshape(mixed, [-1, LENGTH, WIDTH]))


def tagger(attention, depth=2):
    tokens = tf.keras.Input((LENGTH,), dtype="int32")
    x = L.Embedding(WORDS, WIDTH)(tokens)
    for _ in range(depth):
        x = L.LayerNormalization()(L.Add()([x, attention()(x)]))
        y = L.Dense(WIDTH)(L.Dense(3 * WIDTH, activation="relu")(x))
        x = L.LayerNormalization()(L.Add()([x, y]))
    return tf.keras.Model(tokens, L.Dense(TAGS)(x))


def main(clock):
    clock.plan(3, 3)
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, WORDS, (BATCH * 8, LENGTH)).astype("int32")
    tags = rng.integers(0, TAGS, tokens.shape)
    model = tagger(AllHeads if clock.fixed else HeadByHead)
    model.compile(tf.keras.optimizers.SGD(0.05), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(tokens, tags, batch_size=BATCH, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
