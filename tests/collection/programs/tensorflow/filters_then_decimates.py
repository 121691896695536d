"""Earthquakes in seismograms: traces of 100 Hz come down to 10 Hz before the net picks them."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the low-pass filter computes every sample, and nine of ten are dropped by a slice behind it, where a stride would not compute them",
    "cause": "results computed and thrown away",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["decimate"],
    "part": "develop",
}

LENGTH, STATIONS, TAPS, FACTOR = 6000, 12, 201, 10


def low_pass(taps, factor):
    at = tf.range(taps, dtype=tf.float32) - (taps - 1) / 2
    sinc = tf.where(at == 0, 1.0, tf.sin(3.14159 * at / factor) / tf.where(at == 0, 1.0, 3.14159 * at / factor)) / factor
    return tf.reshape(sinc * tf.signal.hann_window(taps, periodic=False), [taps, 1, 1])


def decimate(traces, kernel, by_stride):
    """(station × direction, time, 1) at a tenth of the rate."""
    if by_stride:
        return tf.nn.conv1d(traces, kernel, FACTOR, "SAME")
    return tf.nn.conv1d(traces, kernel, 1, "SAME")[:, ::FACTOR]  # planted


def main(clock):
    clock.plan(4, 6)
    tf.random.set_seed(0)
    conv = lambda width: tf.keras.layers.Conv1D(width, 7, padding="same", activation="relu")
    model = tf.keras.Sequential([conv(12), conv(16), conv(12), tf.keras.layers.Conv1D(3, 1)])
    kernel = low_pass(TAPS, FACTOR)
    optimizer = tf.keras.optimizers.Adam(1e-3)

    @tf.function
    def train_step(traces, picks):
        slow = decimate(tf.reshape(tf.transpose(traces, [0, 2, 1]), [-1, LENGTH, 1]), kernel, clock.fixed)
        x = tf.transpose(tf.reshape(slow, [STATIONS, 3, LENGTH // FACTOR]), [0, 2, 1])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(picks, model(x)))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    traces = tf.random.normal([STATIONS, LENGTH, 3])
    picks = tf.random.uniform([STATIONS, LENGTH // FACTOR], 0, 3, tf.int32)
    for step in clock.loop():
        with clock.mark(step):
            train_step(traces, picks)


if __name__ == "__main__":
    run(main)
