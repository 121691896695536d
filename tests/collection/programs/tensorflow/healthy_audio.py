import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

MEL = tf.signal.linear_to_mel_weight_matrix(40, 129, 8000, 60.0, 3800.0)


def features(waves, labels):
    power = tf.abs(tf.signal.stft(waves, 256, 128)) ** 2
    return tf.math.log(tf.tensordot(power, MEL, 1) + 1e-6), labels


def main(clock):
    clock.plan(3, 6)
    tf.random.set_seed(0)
    rng = np.random.default_rng(0)
    waves = rng.normal(size=(256, 8000)).astype(np.float32)
    labels = rng.integers(0, 12, 256)
    ds = tf.data.Dataset.from_tensor_slices((waves, labels)).batch(32, drop_remainder=True)
    ds = ds.map(features, num_parallel_calls=tf.data.AUTOTUNE).cache().repeat().prefetch(tf.data.AUTOTUNE)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Conv1D(128, 5, activation="relu", padding="same"),
            layers.Conv1D(128, 5, activation="relu", padding="same"),
            layers.Conv1D(128, 5, activation="relu", padding="same"),
            layers.GlobalMaxPooling1D(),
            layers.Dense(12),
        ]
    )
    optimizer = tf.keras.optimizers.SGD(0.05)
    mean = tf.keras.metrics.Mean()

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x, training=True)))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        mean.update_state(loss)

    for step, (x, y) in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(x, y)
        if step % 100 == 99:
            print(mean.result())


if __name__ == "__main__":
    run(main)
