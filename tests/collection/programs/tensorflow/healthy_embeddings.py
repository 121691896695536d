"""Embeddings of sentences for search: a Transformer encoder without training."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

WORDS, LENGTH, WIDTH, HEADS, BATCH = 8000, 32, 192, 6, 24


class Layer(tf.Module):
    def __init__(self):
        super().__init__()
        weight = lambda a, b: tf.Variable(tf.random.normal([a, b], stddev=a**-0.5))
        self.qkv, self.out = weight(WIDTH, 3 * WIDTH), weight(WIDTH, WIDTH)
        self.up, self.down = weight(WIDTH, 4 * WIDTH), weight(4 * WIDTH, WIDTH)

    def __call__(self, x, mask):
        parts = tf.reshape(norm(x) @ self.qkv, [-1, LENGTH, 3, HEADS, WIDTH // HEADS])
        q, k, v = tf.unstack(tf.transpose(parts, [2, 0, 3, 1, 4]))
        scores = tf.matmul(q, k, transpose_b=True) * (WIDTH // HEADS) ** -0.5 + mask
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [0, 2, 1, 3])
        x = x + tf.reshape(mixed, [-1, LENGTH, WIDTH]) @ self.out
        return x + tf.nn.relu(norm(x) @ self.up) @ self.down


def norm(x):
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5)


class Encoder(tf.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.table = tf.Variable(tf.random.normal([WORDS, WIDTH], stddev=0.05))
        self.layers = [Layer() for _ in range(depth)]

    @tf.function
    def embed(self, tokens):
        present = tf.cast(tokens > 0, tf.float32)
        mask = (present[:, None, None] - 1) * 1e9
        x = tf.gather(self.table, tokens)
        for layer in self.layers:
            x = layer(x, mask)
        pooled = tf.reduce_sum(x * present[..., None], 1) / tf.reduce_sum(present, 1, keepdims=True)
        return tf.math.l2_normalize(pooled, -1)


def main(clock):
    clock.plan(3, 5)
    encoder = Encoder()
    tokens = tf.random.uniform([BATCH * 12, LENGTH], minval=1, maxval=WORDS, dtype=tf.int32)
    ds = tf.data.Dataset.from_tensor_slices(tokens).batch(BATCH).prefetch(2)
    vectors = []
    for step, batch in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step, "embed"):
            vectors.append(encoder.embed(batch).numpy())


if __name__ == "__main__":
    run(main)
