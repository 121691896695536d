"""Colours for grey pictures: a small encoder and decoder, with TensorBoard."""
import os
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each step writes a sheet of the batch's pictures to TensorBoard, encoded as PNG; every 500th step was meant",
    "cause": "work for display in each step",
    "accept": ["largest-part", "summaries-every-step", "summaries", "python-bound"],
    "rules": ["summaries-every-step", "summaries", "python-bound"],
    "words": ["show", "EncodePng", "encode_png", "summary", "write_summary", "WriteSummary"],
    "part": "score",
}

SIDE, BATCH = 64, 16


def show(writer, step, grey, colour, truth):
    rows = [tf.concat([tf.repeat(a, 3, -1), b, c], 1) for a, b, c in zip(grey, colour, truth)]
    sheet = tf.concat(rows, 1)[None]
    with writer.as_default():
        tf.summary.image("sheet", tf.clip_by_value(sheet, 0, 1), step)  # planted


def colour_net():
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((SIDE, SIDE, 1)),
            layers.Conv2D(16, 5, 2, padding="same", activation="relu"),
            layers.Conv2D(32, 3, 2, padding="same", activation="relu"),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.Conv2DTranspose(16, 4, 2, padding="same", activation="relu"),
            layers.Conv2DTranspose(3, 4, 2, padding="same", activation="sigmoid"),
        ]
    )


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(0)
    rng = np.random.default_rng(0)
    photos = rng.random((128, SIDE, SIDE, 3), np.float32)
    net, optimizer = colour_net(), tf.keras.optimizers.SGD(0.01, momentum=0.9)
    writer = tf.summary.create_file_writer(os.path.join(clock.folder, "board"))
    every = 500 if clock.fixed else 1

    @tf.function
    def train_step(grey, truth):
        with tf.GradientTape() as tape:
            colour = net(grey, training=True)
            loss = tf.reduce_mean(tf.abs(colour - truth))
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables))
        return loss, colour

    for step in clock.loop():
        with clock.mark(step):
            truth = photos[rng.integers(0, 128, BATCH)]
            grey = truth.mean(-1, keepdims=True)
            loss, colour = train_step(grey, truth)
            if (step + 1) % every == 0:
                show(writer, step, grey, colour, truth)  # planted


if __name__ == "__main__":
    run(main)
