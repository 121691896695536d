import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the sentence that is translated is encoded again for each word of the translation",
    "cause": "the same work again",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["encoder"],
    "part": "develop",
}
WORDS, WIDTH, LENGTH, BATCH, NEW = 1500, 128, 48, 8, 12


class Encoder(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.look = tf.keras.layers.Embedding(WORDS, WIDTH)
        self.attend = [tf.keras.layers.MultiHeadAttention(4, WIDTH // 4) for _ in range(2)]
        self.inner = [tf.keras.layers.Dense(4 * WIDTH, activation="relu") for _ in range(2)]
        self.outer = [tf.keras.layers.Dense(WIDTH) for _ in range(2)]

    def call(self, ids):
        x = self.look(ids)
        for attend, inner, outer in zip(self.attend, self.inner, self.outer):
            x = x + attend(x, x)
            x = x + outer(inner(x))
        return x


class Decoder(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.look = tf.keras.layers.Embedding(WORDS, WIDTH)
        self.cell = tf.keras.layers.GRUCell(WIDTH)
        self.attend = tf.keras.layers.Attention()
        self.head = tf.keras.layers.Dense(WORDS)

    def call(self, ids, state, memory):
        x, states = self.cell(self.look(ids), [state])
        state = states[0] if isinstance(states, (list, tuple)) else states
        seen = self.attend([x[:, None], memory])[:, 0]
        return self.head(tf.concat([x, seen], -1)), state


class Translator:
    def __init__(self, is_fixed):
        self.encoder, self.decoder, self.is_fixed = Encoder(), Decoder(), is_fixed

    @tf.function
    def encode(self, source):
        return self.encoder(source)

    @tf.function
    def next_word(self, source, ids, state):
        return self.decoder(ids, state, self.encoder(source))  # planted

    @tf.function
    def next_of(self, memory, ids, state):
        return self.decoder(ids, state, memory)

    def translate(self, source):
        ids, state = tf.zeros(BATCH, tf.int32), tf.zeros((BATCH, WIDTH))
        memory = self.encode(source) if self.is_fixed else None
        found = []
        for _ in range(NEW):
            if self.is_fixed:
                logits, state = self.next_of(memory, ids, state)
            else:
                logits, state = self.next_word(source, ids, state)
            ids = tf.argmax(logits, -1, output_type=tf.int32)
            found.append(ids)
        return tf.stack(found, 1).numpy()


def main(clock):
    clock.plan(2, 6)
    rng = np.random.default_rng(0)
    translator = Translator(clock.fixed)
    source = tf.constant(rng.integers(0, WORDS, (BATCH, LENGTH)), tf.int32)
    for step in clock.loop():
        with clock.mark(step):
            translator.translate(source)


if __name__ == "__main__":
    run(main)
