"""An importance-weighted autoencoder of cells' gene counts: sixteen draws for each cell."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "cells are repeated sixteen times before the encoder, which so computes the same mean and width sixteen times; only the draws differ",
    "cause": "the same computed several times",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["repeat_then_encode", "encoder"],
    "part": "score",
}

GENES, LATENT, DRAWS, BATCH = 1200, 10, 16, 32


def mlp(widths, out, name):
    return tf.keras.Sequential([*[tf.keras.layers.Dense(w, activation="relu") for w in widths], tf.keras.layers.Dense(out)], name=name)


class IWAE(tf.keras.Model):
    def __init__(self, encode_once):
        super().__init__()
        self.encoder, self.decoder = mlp([256, 128], 2 * LATENT, "encoder"), mlp([48], GENES, "decoder")
        self.encode_once = encode_once

    def draws_of(self, code):
        mean, width = tf.split(code, 2, -1)
        noise = tf.random.normal(tf.shape(mean))
        z = mean + tf.exp(width) * noise
        log_ratio = tf.reduce_sum(-0.5 * z**2 + 0.5 * noise**2 + width, -1)
        return z, log_ratio

    def repeat_then_encode(self, x):
        return self.encoder(tf.repeat(x, DRAWS, 0))  # planted

    def bound(self, x):
        if self.encode_once:
            code = tf.repeat(self.encoder(x), DRAWS, 0)
        else:
            code = self.repeat_then_encode(x)  # planted
        z, log_ratio = self.draws_of(code)
        rates = tf.reshape(self.decoder(z), [-1, DRAWS, GENES])
        log_p = tf.reduce_sum(x[:, None] * rates - tf.exp(rates), -1)
        return tf.reduce_mean(tf.reduce_logsumexp(log_p + tf.reshape(log_ratio, [-1, DRAWS]), 1))

    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = -self.bound(x)
        weights = self.encoder.trainable_variables + self.decoder.trainable_variables
        grads, _ = tf.clip_by_global_norm(tape.gradient(loss, weights), 1.0)
        self.optimizer.apply_gradients(zip(grads, weights))
        return {"loss": loss}


def main(clock):
    clock.plan(3, 4)
    counts = np.random.default_rng(0).poisson(0.3, (1024, GENES)).astype("float32")
    model = IWAE(encode_once=clock.fixed)
    model.bound(counts[:2])
    model.compile(optimizer=tf.keras.optimizers.SGD(1e-3))
    cells = tf.data.Dataset.from_tensor_slices(counts).shuffle(1024).batch(BATCH, drop_remainder=True).prefetch(2)
    model.fit(cells, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
