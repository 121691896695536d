"""Clicks on adverts: hashed fields into embeddings."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "ids are numbers, and each is written as text for a strong hash of strings, where the remainder of a product hashes numbers as well",
    "cause": "conversions back and forth",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["AsString", "StringToHashBucketStrong", "StringToHashBucket", "bucket_of"],
    "part": "develop",
}

FIELDS, BUCKETS, BATCH, WIDTH = 26, 4096, 1024, 16


def bucket_of(ids, by_number):
    if by_number:
        mixed = tf.bitwise.bitwise_xor(ids, tf.bitwise.right_shift(ids, tf.constant(17, tf.int64)))
        return tf.math.floormod(mixed * 2654435761, BUCKETS)
    return tf.strings.to_hash_bucket_strong(tf.strings.as_string(ids), BUCKETS, [7, 11])  # planted


class ClickModel(tf.Module):
    def __init__(self, by_number):
        super().__init__()
        self.by_number = by_number
        new = lambda i, o: tf.Variable(tf.random.normal([i, o]) * i**-0.5)
        self.table = new(FIELDS * BUCKETS, WIDTH)
        self.kernels = [new(FIELDS * WIDTH, 128), new(128, 64), new(64, 1)]

    def __call__(self, ids):
        rows = bucket_of(ids, self.by_number) + BUCKETS * tf.range(FIELDS, dtype=tf.int64)
        x = tf.reshape(tf.gather(self.table, rows), [-1, FIELDS * WIDTH])
        for kernel in self.kernels[:-1]:
            x = tf.nn.relu(x @ kernel)
        return (x @ self.kernels[-1])[:, 0]


def descend(variable, gradient, rate=0.05):
    if isinstance(gradient, tf.IndexedSlices):
        variable.scatter_sub(tf.IndexedSlices(rate * gradient.values, gradient.indices))
    else:
        variable.assign_sub(rate * gradient)


def main(clock):
    clock.plan(4, 5)
    tf.random.set_seed(0)
    model = ClickModel(by_number=clock.fixed)
    rng = np.random.default_rng(0)
    ids, clicks = rng.integers(0, 2**40, (16_384, FIELDS)), (rng.random(16_384) < 0.1).astype("float32")
    ds = tf.data.Dataset.from_tensor_slices((ids, clicks)).batch(BATCH).cache().repeat().prefetch(4)

    @tf.function
    def train_step(ids, clicks):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(clicks, model(ids)))
        for variable, gradient in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            descend(variable, gradient)
        return loss

    for step, (ids, clicks) in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(ids, clicks)


if __name__ == "__main__":
    run(main)
