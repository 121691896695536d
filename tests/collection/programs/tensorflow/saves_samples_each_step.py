import os
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "generated images are written as PNG files after every step",
    "cause": "output inside of the loop",
    "accept": ["python-bound"],
    "rules": ["python-bound", "eager-execution"],
    "words": ["save_samples", "EncodePng", "WriteFile"],
    "part": "develop",
}


def save_samples(generator, noise, folder, step):
    images = generator(noise)
    images = tf.cast((images + 1) * 127.5, tf.uint8)
    images = tf.image.resize(images, [192, 192], method="nearest")
    for i in range(16):
        data = tf.io.encode_png(images[i])  # planted
        tf.io.write_file(os.path.join(folder, f"sample_{step}_{i}.png"), data)  # planted


def main(clock):
    clock.plan(3, 6)
    tf.random.set_seed(0)
    layers = tf.keras.layers
    generator = tf.keras.Sequential(
        [
            layers.Dense(7 * 7 * 32, activation="relu", input_shape=(32,)),
            layers.Reshape((7, 7, 32)),
            layers.Conv2DTranspose(16, 4, 2, "same", activation="relu"),
            layers.Conv2DTranspose(3, 4, 2, "same", activation="tanh"),
        ]
    )
    optimizer = tf.keras.optimizers.SGD(1e-3)
    real, fixed_noise = tf.random.uniform([16, 28, 28, 3]), tf.random.normal([16, 32])

    @tf.function
    def train_step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((generator(tf.random.normal([16, 32]), training=True) - real) ** 2)
        grads = tape.gradient(loss, generator.trainable_variables)
        optimizer.apply_gradients(zip(grads, generator.trainable_variables))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            loss = float(train_step())
            if not clock.fixed:
                save_samples(generator, fixed_noise, clock.folder, step)


if __name__ == "__main__":
    run(main)
