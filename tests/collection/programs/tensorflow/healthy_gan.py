import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def main(clock):
    clock.plan(3, 6)
    tf.random.set_seed(0)
    layers = tf.keras.layers
    generator = tf.keras.Sequential(
        [
            layers.Dense(7 * 7 * 64, activation="relu", input_shape=(64,)),
            layers.Reshape((7, 7, 64)),
            layers.Conv2DTranspose(32, 4, 2, "same", activation="relu"),
            layers.Conv2DTranspose(1, 4, 2, "same", activation="tanh"),
        ]
    )
    discriminator = tf.keras.Sequential(
        [
            layers.Conv2D(32, 4, 2, "same", activation="relu", input_shape=(28, 28, 1)),
            layers.Conv2D(64, 4, 2, "same", activation="relu"),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    g_optimizer, d_optimizer = tf.keras.optimizers.Adam(2e-4), tf.keras.optimizers.Adam(2e-4)
    cross = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    images = tf.random.uniform([1024, 28, 28, 1], -1, 1)
    ds = tf.data.Dataset.from_tensor_slices(images).shuffle(1024).repeat().batch(64).prefetch(2)

    @tf.function
    def train_step(real):
        noise = tf.random.normal([64, 64])
        with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
            fake = generator(noise, training=True)
            said_real, said_fake = discriminator(real, training=True), discriminator(fake, training=True)
            g_loss = cross(tf.ones_like(said_fake), said_fake)
            d_loss = cross(tf.ones_like(said_real), said_real) + cross(tf.zeros_like(said_fake), said_fake)
        g_grads = g_tape.gradient(g_loss, generator.trainable_variables)
        d_grads = d_tape.gradient(d_loss, discriminator.trainable_variables)
        g_optimizer.apply_gradients(zip(g_grads, generator.trainable_variables))
        d_optimizer.apply_gradients(zip(d_grads, discriminator.trainable_variables))
        return g_loss, d_loss

    for step, real in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(real)


if __name__ == "__main__":
    run(main)
