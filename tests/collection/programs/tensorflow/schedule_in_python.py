"""Denoising diffusion of 16 x 16 textures in TensorFlow."""
import math
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the cosine schedule of 4000 noise levels is built in Python for every batch to look up sixteen of them",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "python-bound", "idle-device"],
    "rules": ["python-bound", "idle-device"],
    "words": ["alpha_bar", "betas_for", "cumulative", "noise_levels"],
    "part": "score",
}

LEVELS, SIDE, BATCH = 4000, 16, 16


def alpha_bar(t):
    return math.cos((t + 0.008) / 1.008 * math.pi / 2) ** 2


def betas_for(levels):
    betas = []
    for i in range(levels):
        betas.append(min(1 - alpha_bar((i + 1) / levels) / alpha_bar(i / levels), 0.999))  # planted
    return betas


def cumulative(betas):
    kept, out = 1.0, []
    for beta in betas:
        kept *= 1 - beta  # planted
        out.append(kept)
    return np.array(out, np.float32)


class Schedule:
    def __init__(self, levels, keep):
        self.levels = levels
        self.kept = cumulative(betas_for(levels)) if keep else None

    def noise_levels(self, t):
        kept = self.kept if self.kept is not None else cumulative(betas_for(self.levels))  # planted
        return kept[t][:, None, None, None]


def denoiser():
    layers = tf.keras.layers
    noisy, level = tf.keras.Input((SIDE, SIDE, 3)), tf.keras.Input((1, 1, 1))
    shift = layers.Dense(16)(level)
    x = layers.Conv2D(16, 3, padding="same")(noisy)
    for _ in range(3):
        h = layers.Activation("swish")(layers.Add()([x, shift]))
        x = layers.Add()([x, layers.Conv2D(16, 3, padding="same")(h)])
    return tf.keras.Model([noisy, level], layers.Conv2D(3, 3, padding="same")(x))


def main(clock):
    clock.plan(3, 5)
    tf.random.set_seed(0)
    rng = np.random.default_rng(0)
    net, schedule = denoiser(), Schedule(LEVELS, keep=clock.fixed)
    optimizer = tf.keras.optimizers.Adam(2e-4)
    textures = rng.normal(size=(256, SIDE, SIDE, 3)).astype("float32")

    @tf.function
    def train_step(clean, kept):
        noise = tf.random.normal(tf.shape(clean))
        with tf.GradientTape() as tape:
            guess = net([tf.sqrt(kept) * clean + tf.sqrt(1 - kept) * noise, kept], training=True)
            loss = tf.reduce_mean((guess - noise) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            kept = schedule.noise_levels(rng.integers(0, LEVELS, BATCH))
            loss = train_step(textures[rng.integers(0, 256, BATCH)], kept)
    float(loss)


if __name__ == "__main__":
    run(main)
