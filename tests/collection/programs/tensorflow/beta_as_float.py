"""beta-VAE with an annealed beta, after the CVAE tutorial."""
import sys
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "beta is a Python number that changes with every fourth step: the step is traced again",
    "cause": "retracing",
    "accept": ["largest-part", "retracing", "recompilation", "uneven-steps", "python-bound"],
    "rules": ["retracing", "uneven-steps", "python-bound", "largest-part"],
    "words": ["beta_at", "train_step"],
    "part": "develop",
}


class VAE(tf.keras.Model):
    def __init__(self, latent=32):
        super().__init__()
        layers = tf.keras.layers
        self.encoder = tf.keras.Sequential(
            [
                tf.keras.Input((64, 64, 3)),
                layers.Conv2D(32, 4, 2, padding="same", activation="relu"),
                layers.Conv2D(64, 4, 2, padding="same", activation="relu"),
                layers.Conv2D(128, 4, 2, padding="same", activation="relu"),
                layers.Flatten(),
                layers.Dense(256, activation="relu"),
                layers.Dense(2 * latent),
            ]
        )
        self.decoder = tf.keras.Sequential(
            [
                tf.keras.Input((latent,)),
                layers.Dense(8 * 8 * 128, activation="relu"),
                layers.Reshape((8, 8, 128)),
                layers.Conv2DTranspose(64, 4, 2, padding="same", activation="relu"),
                layers.Conv2DTranspose(32, 4, 2, padding="same", activation="relu"),
                layers.Conv2DTranspose(3, 4, 2, padding="same"),
            ]
        )

    def encode(self, x):
        return tf.split(self.encoder(x), 2, 1)

    def sample(self, mean, log_var):
        return mean + tf.random.normal(tf.shape(mean)) * tf.exp(0.5 * log_var)


class Annealed:
    """From 0 to its end, in steps that are not too fine."""

    def __init__(self, end=4.0, over=400, every=4):
        self.end, self.over, self.every = end, over, every

    def beta_at(self, step):
        return self.end * min(1.0, (step // self.every) * self.every / self.over)


def loss_of(model, x, beta):
    mean, log_var = model.encode(x)
    logits = model.decoder(model.sample(mean, log_var))
    error = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(x, logits), (1, 2, 3))
    divergence = -0.5 * tf.reduce_sum(1 + log_var - mean**2 - tf.exp(log_var), 1)
    return tf.reduce_mean(error + beta * divergence), tf.reduce_mean(divergence)


def make_step(model, optimizer):
    @tf.function
    def train_step(x, beta):
        with tf.GradientTape() as tape:
            loss, divergence = loss_of(model, x, beta)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss, divergence

    return train_step


def main(clock):
    clock.plan(6, 8)
    x = np.random.default_rng(0).random((256, 64, 64, 3)).astype(np.float32)
    data = iter(tf.data.Dataset.from_tensor_slices(x).cache().repeat().shuffle(256).batch(32).prefetch(2))
    model = VAE()
    train_step = make_step(model, tf.keras.optimizers.Adam(1e-4))
    anneal, began = Annealed(), time.time()
    for step in clock.loop():
        with clock.mark(step):
            beta = anneal.beta_at(step)
            if clock.fixed:
                beta = tf.constant(beta)
            loss, divergence = train_step(next(data), beta)  # planted
            loss.numpy()
    print(f"{time.time() - began:.1f} s, KL {divergence.numpy():.2f}", file=sys.stderr)


if __name__ == "__main__":
    run(main)
