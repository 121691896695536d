"""Flowers from photos, with mixup."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "mixup zips two copies of the pipeline, so that each batch decodes and shrinks twice its images, where a batch could be mixed with itself reversed",
    "cause": "input made twice",
    "accept": ["largest-part", "input-bound", "host-input-limit", "no-cache", "few-input-threads", "serial-map", "batch-after-map", "input-takes-cores"],
    "rules": ["input-bound", "host-input-limit", "no-cache", "few-input-threads", "serial-map", "batch-after-map", "input-takes-cores"],
    "words": ["Zip", "ZipDataset", "mixed_from_two", "decode", "DecodeJpeg", "ParallelMap"],
    "part": "develop",
}

PHOTOS, SIDE, BATCH, KINDS = 64, 448, 12, 5


def photos():
    rng = np.random.default_rng(0)
    small = tf.constant(rng.integers(0, 255, (PHOTOS, 16, 16, 3)), tf.float32)
    large = tf.cast(tf.image.resize(small, (SIDE, SIDE)), tf.uint8)
    return tf.constant([tf.io.encode_jpeg(one).numpy() for one in large]), rng.integers(0, KINDS, PHOTOS)


def decode(data, kind):
    image = tf.image.resize(tf.io.decode_jpeg(data, channels=3), (64, 64))
    return image / 255.0, tf.one_hot(kind, KINDS)


def batches(data, kinds, seed):
    ds = tf.data.Dataset.from_tensor_slices((data, kinds)).shuffle(PHOTOS, seed).repeat()
    return ds.map(decode, 2).batch(BATCH)


def mix(one, other):
    share = tf.random.uniform([BATCH, 1], 0.5, 1.0)
    image = share[..., None, None] * one[0] + (1 - share[..., None, None]) * other[0]
    return image, share * one[1] + (1 - share) * other[1]


def mixed_from_two(data, kinds):
    return tf.data.Dataset.zip((batches(data, kinds, 1), batches(data, kinds, 2))).map(mix).prefetch(2)  # planted


def mixed_within(data, kinds):
    return batches(data, kinds, 1).map(lambda x, y: mix((x, y), (x[::-1], y[::-1]))).prefetch(2)


class FlowerNet(tf.Module):
    def __init__(self, widths=(3, 12, 24, 32)):
        super().__init__()
        self.kernels = [tf.Variable(tf.random.normal([3, 3, *s]) * (9 * s[0]) ** -0.5) for s in zip(widths, widths[1:])]
        self.head = tf.Variable(tf.random.normal([widths[-1], KINDS]) * 0.1)

    def __call__(self, x):
        for kernel in self.kernels:
            x = tf.nn.relu(tf.nn.conv2d(x, kernel, 2, "SAME"))
        return tf.reduce_mean(x, [1, 2]) @ self.head


def main(clock):
    clock.plan(10, 8)
    tf.random.set_seed(0)
    net = FlowerNet()

    @tf.function
    def train_step(images, shares):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(shares, net(images)))
        for w, g in zip(net.trainable_variables, tape.gradient(loss, net.trainable_variables)):
            w.assign_sub(0.05 * g)
        return loss

    make = mixed_within if clock.fixed else mixed_from_two
    for step, (images, shares) in enumerate(make(*photos())):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(images, shares)


if __name__ == "__main__":
    run(main)
