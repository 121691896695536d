"""Roads from the air: segmentation with a loss that weighs errors by their distance to the next road."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the distance to the mask is found in each step by 64 dilations in a row, one for each pixel of distance; masks never change, so it could be made once with the data",
    "cause": "work done again",
    "accept": ["largest-part", "dominant-op", "tiny-ops", "unfused-ops"],
    "rules": ["dominant-op", "tiny-ops", "unfused-ops"],
    "words": ["distance_to", "MaxPool", "max_pool", "max_pool2d"],
    "part": "score",
}

SIDE, BATCH, FARTHEST, TILES = 64, 16, 64, 64


def distance_to(mask):
    reached, distance = mask, tf.zeros_like(mask)
    for _ in range(FARTHEST):
        distance += 1 - reached
        reached = tf.nn.max_pool2d(reached, 3, 1, "SAME")  # planted
    return distance / FARTHEST


def conv(x, w, stride=1):
    return tf.nn.conv2d(x, w, stride, "SAME")


class RoadNet(tf.Module):
    def __init__(self):
        super().__init__()
        sizes = [(3, 8), (8, 16), (16, 16), (16, 8), (16, 1)]
        self.w = [tf.Variable(tf.random.normal([3, 3, a, b]) * (2 / (9 * a)) ** 0.5) for a, b in sizes]

    def __call__(self, x):
        a = tf.nn.relu(conv(x, self.w[0]))
        b = tf.nn.relu(conv(a, self.w[1], 2))
        b = tf.nn.relu(conv(b, self.w[2]))
        up = tf.image.resize(conv(b, self.w[3]), [SIDE, SIDE])
        return conv(tf.concat([a, tf.nn.relu(up)], -1), self.w[4])


def roads(count, rng):
    masks = np.zeros((count, SIDE, SIDE, 1), np.float32)
    for mask in masks:
        mask[rng.integers(SIDE)], mask[:, rng.integers(SIDE)] = 1, 1
    return rng.normal(masks, 0.4, (count, SIDE, SIDE, 3)).astype(np.float32), masks


def main(clock):
    clock.plan(2, 3)
    tf.random.set_seed(0)
    rng = np.random.default_rng(0)
    images, masks = roads(TILES, rng)
    known = np.concatenate([distance_to(tf.constant(masks[i : i + 16])) for i in range(0, TILES, 16)]) if clock.fixed else masks
    net = RoadNet()

    @tf.function
    def train_step(image, mask, extra):
        with tf.GradientTape() as tape:
            logits = net(image)
            distance = extra if clock.fixed else distance_to(mask)
            errors = tf.nn.sigmoid_cross_entropy_with_logits(mask, logits)
            loss = tf.reduce_mean(errors * (1 + 4 * distance))
        for w, g in zip(net.trainable_variables, tape.gradient(loss, net.trainable_variables)):
            w.assign_sub(0.01 * g)
        return loss

    for step in clock.loop():
        with clock.mark(step):
            at = rng.integers(0, TILES, BATCH)
            float(train_step(images[at], masks[at], known[at]))


if __name__ == "__main__":
    run(main)
