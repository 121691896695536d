"""DnCNN (Zhang et al. 2017): residual denoising of grey patches."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "healthy",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}

CFG = {"depth": 5, "width": 48, "patch": 48, "batch": 16, "sigma": 25 / 255, "lr": 1e-3}


class DnCNN(tf.Module):
    def __init__(self, depth, width):
        super().__init__()
        sizes = [1] + [width] * (depth - 1) + [1]
        self.kernels = [
            tf.Variable(tf.random.normal([3, 3, a, b], stddev=(2 / (9 * a)) ** 0.5)) for a, b in zip(sizes, sizes[1:])
        ]
        self.biases = [tf.Variable(tf.zeros([b])) for b in sizes[1:]]

    def __call__(self, x):
        for w, b in zip(self.kernels[:-1], self.biases[:-1]):
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME"), b))
        return tf.nn.conv2d(x, self.kernels[-1], 1, "SAME") + self.biases[-1]


def patches():
    clean = np.random.default_rng(0).random((512, CFG["patch"], CFG["patch"], 1), "float32")
    ds = tf.data.Dataset.from_tensor_slices(clean).cache().shuffle(512).repeat()
    return ds.batch(CFG["batch"], drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def main(clock):
    clock.plan(4, 6)
    net = DnCNN(CFG["depth"], CFG["width"])
    weights = net.trainable_variables
    mean = tf.Variable(0.0, trainable=False)

    @tf.function
    def train_step(clean):
        noise = CFG["sigma"] * tf.random.normal(tf.shape(clean))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(clean + noise) - noise))
        for w, g in zip(weights, tape.gradient(loss, weights)):
            w.assign_sub(CFG["lr"] * g)
        mean.assign(0.9 * mean + 0.1 * loss)

    it = iter(patches())
    for step in clock.loop():
        with clock.mark(step):
            train_step(next(it))
    print("psnr", float(-10 * tf.math.log(mean) / tf.math.log(10.0)))


if __name__ == "__main__":
    run(main)
