"""A critic of flowers with spectral normalisation (SN-GAN), trained on made and true pictures."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "SpectralNormalization takes 30 power iterations of each kernel in each call, where it goes on from its last vector and one is enough",
    "cause": "an algorithm that does more than it must",
    "accept": ["largest-part", "dominant-op", "tiny-ops", "tiny-kernels"],
    "rules": ["dominant-op", "tiny-ops", "tiny-kernels"],
    "words": ["SpectralNormalization", "normalized_weights", "spectral_normalization", "power_iterations"],
    "part": "develop",
}

SIZE, BATCH = 32, 8
L = tf.keras.layers


def normalised(conv, iterations):
    return L.SpectralNormalization(conv, power_iterations=iterations)  # planted


class Critic(tf.keras.Model):
    def __init__(self, iterations):
        super().__init__()
        self.convs = []
        for width, stride in ((48, 2), (96, 2), (160, 2), (256, 2)):
            conv = L.Conv2D(width, 4, stride, "same")
            self.convs.append(normalised(conv, iterations))
        self.head = tf.keras.Sequential([L.Flatten(), L.Dense(1)])

    def call(self, x, training=None):
        for conv in self.convs:
            x = tf.nn.leaky_relu(conv(x, training=training), 0.1)
        return self.head(x)


def hinge(labels, scores):
    return tf.reduce_mean(tf.nn.relu(1.0 - labels * scores))


def pictures():
    rng = np.random.default_rng(0)
    x = rng.random((BATCH * 8, SIZE, SIZE, 3), dtype="float32") * 2 - 1
    y = np.where(rng.random((len(x), 1)) < 0.5, 1.0, -1.0).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).prefetch(2)


def main(clock):
    clock.plan(3, 3)
    critic = Critic(iterations=1 if clock.fixed else 30)  # planted
    critic.compile(tf.keras.optimizers.SGD(2e-4), hinge)
    critic.fit(pictures(), epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
