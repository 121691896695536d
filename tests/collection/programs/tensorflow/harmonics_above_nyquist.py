"""A violin by additive synthesis: a net sets pitch curves and harmonics (DDSP)."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "sines of 80 harmonics are computed at each sample, of which, for notes this high, all but eleven lie above half the sample rate and are multiplied by zero",
    "cause": "results computed and thrown away",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["oscillators", "Sin", "Cos", "synthesize"],
    "part": "develop",
}

RATE, SAMPLES, FRAMES, BATCH, WIDTH = 16_000, 2000, 25, 4, 256
HARMONICS, LOWEST = 80, 700.0


def upsample(frames):
    return tf.repeat(frames, SAMPLES // FRAMES, axis=1)


def oscillators(pitch, loudness):
    """(batch, frames, 1) and (batch, frames, harmonics) → (batch, samples)."""
    numbers = tf.range(1, loudness.shape[-1] + 1, dtype=tf.float32)
    frequencies = upsample(pitch) * numbers
    audible = tf.cast(frequencies < RATE / 2, tf.float32)
    phases = tf.cumsum(2 * np.pi * frequencies / RATE, axis=1)
    return tf.reduce_sum(tf.sin(phases) * audible * upsample(loudness), -1)  # planted


class Player(tf.Module):
    def __init__(self, harmonics):
        super().__init__()
        new = lambda i, o: tf.Variable(tf.random.normal([i, o]) * i**-0.5)
        self.body, self.harmonics = [new(2, WIDTH), new(WIDTH, WIDTH)], new(WIDTH, harmonics)

    def __call__(self, pitch, volume):
        x = tf.concat([tf.math.log(pitch / LOWEST), volume], -1)
        for kernel in self.body:
            x = tf.nn.leaky_relu(x @ kernel)
        return oscillators(pitch, tf.nn.softplus(x @ self.harmonics))


def spectra(wave):
    return tf.abs(tf.signal.stft(wave, 256, 128))


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(0)
    player = Player(int(RATE / 2 / LOWEST) if clock.fixed else HARMONICS)

    @tf.function
    def train_step(pitch, volume, heard):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(spectra(player(pitch, volume)) - heard))
        for w, g in zip(player.trainable_variables, tape.gradient(loss, player.trainable_variables)):
            w.assign_sub(1e-3 * g)
        return loss

    heard = spectra(tf.random.normal([BATCH, SAMPLES]))
    pitch = LOWEST * (1 + 0.3 * tf.random.uniform([BATCH, FRAMES, 1]))
    volume = tf.random.uniform([BATCH, FRAMES, 1])
    for step in clock.loop():
        with clock.mark(step):
            train_step(pitch, volume, heard)


if __name__ == "__main__":
    run(main)
