"""Minerals from hyperspectral pictures: abundances by least squares, put right by a net."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each step takes the pseudo-inverse of the same library of spectra, by a singular value decomposition",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["pinv", "Svd", "SVD", "abundances"],
    "part": "develop",
}

BANDS, MINERALS, PIXELS = 224, 120, 500


class Unmixing(tf.Module):
    def __init__(self, library, invert_once):
        super().__init__()
        self.library = tf.Variable(library, trainable=False)
        self.inverse = tf.Variable(tf.linalg.pinv(library), trainable=False) if invert_once else None
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(192, "relu"), tf.keras.layers.Dense(96, "relu"), tf.keras.layers.Dense(MINERALS)])
        self.net.build((None, MINERALS))
        self.optimizer = tf.keras.optimizers.Adam(1e-3)

    def abundances(self, spectra):
        inverse = self.inverse
        if inverse is None:
            inverse = tf.linalg.pinv(self.library)  # planted
        return tf.matmul(spectra, inverse, transpose_b=True)

    @tf.function
    def train_step(self, spectra, wanted):
        first = self.abundances(spectra)
        with tf.GradientTape() as tape:
            better = tf.nn.softmax(first + self.net(first))
            loss = tf.reduce_mean((better - wanted) ** 2)
        variables = self.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


def main(clock):
    clock.plan(4, 6)
    tf.random.set_seed(0)
    library = tf.random.uniform([BANDS, MINERALS])
    wanted = tf.nn.softmax(tf.random.normal([PIXELS, MINERALS]))
    spectra = tf.matmul(wanted, library, transpose_b=True) + tf.random.normal([PIXELS, BANDS], stddev=0.01)
    unmixing = Unmixing(library, invert_once=clock.fixed)
    for step in clock.loop():
        with clock.mark(step):
            unmixing.train_step(spectra, wanted)


if __name__ == "__main__":
    run(main)
