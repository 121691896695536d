"""Dilated segmentation net; everything in graphs, data cached and prefetched."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

SIDE, CLASSES, BATCH = 96, 8, 8


def block(x, filters, rate):
    x = tf.keras.layers.Conv2D(filters, 3, padding="same", dilation_rate=rate, use_bias=False)(x)
    return tf.keras.layers.Activation("relu")(tf.keras.layers.BatchNormalization()(x))


def build():
    image = tf.keras.Input((SIDE, SIDE, 3))
    x = tf.keras.layers.Conv2D(32, 3, 2, padding="same", activation="relu")(image)
    x = block(x, 64, 1)
    branches = [block(x, 48, rate) for rate in (1, 2, 4)]
    x = block(tf.keras.layers.Concatenate()(branches), 96, 1)
    x = tf.keras.layers.Conv2DTranspose(CLASSES, 4, 2, padding="same")(x)
    return tf.keras.Model(image, x)


def flip(x, y):
    both = tf.concat([x, tf.cast(y[..., None], tf.float32)], -1)
    both = tf.image.random_flip_left_right(both)
    return both[..., :3], tf.cast(both[..., 3], tf.int32)


def main(clock):
    clock.plan(4, 5)
    rng = np.random.default_rng(0)
    images = rng.random((64, SIDE, SIDE, 3)).astype(np.float32)
    masks = rng.integers(0, CLASSES, (64, SIDE, SIDE)).astype(np.int32)
    data = tf.data.Dataset.from_tensor_slices((images, masks)).cache().shuffle(64).repeat().batch(BATCH)
    data = data.map(flip, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    model = build()
    schedule = tf.keras.optimizers.schedules.PolynomialDecay(1e-2, 30_000, power=0.9)
    optimizer = tf.keras.optimizers.SGD(schedule, momentum=0.9)
    mean_loss = tf.keras.metrics.Mean()

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        mean_loss.update_state(loss)

    batches = iter(data)
    for step in clock.loop():
        with clock.mark(step):
            train_step(*next(batches))
    print(f"loss {mean_loss.result().numpy():.3f}", file=sys.stderr)


if __name__ == "__main__":
    run(main)
