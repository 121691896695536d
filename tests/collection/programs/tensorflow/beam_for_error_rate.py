"""Line OCR with CTC, after the Keras captcha example, with a loop of its own."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every training batch is decoded by a beam search of 60 for the character error rate",
    "cause": "a costly metric in each training step",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["largest-part", "dominant-op"],
    "words": ["CharacterErrorRate", "ctc_beam_search_decoder", "CTCBeamSearchDecoder"],
    "part": "develop",
}

ALPHABET = " abcdefghijklmnopqrstuvwxyz0123456789"
BLANK = len(ALPHABET)


class CharacterErrorRate(tf.keras.metrics.Metric):
    def __init__(self, beam_width, name="cer"):
        super().__init__(name=name)
        self.beam_width = beam_width
        self.total = self.add_weight(name="total", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")

    def decode(self, logits, lengths):
        if self.beam_width == 1:
            return tf.nn.ctc_greedy_decoder(logits, lengths)[0][0]
        return tf.nn.ctc_beam_search_decoder(logits, lengths, beam_width=self.beam_width)[0][0]  # planted

    def update_state(self, labels, logits, lengths):
        decoded = self.decode(tf.transpose(logits, (1, 0, 2)), lengths)
        truth = tf.sparse.from_dense(tf.cast(labels + 1, tf.int64))
        truth = tf.SparseTensor(truth.indices, truth.values - 1, truth.dense_shape)
        errors = tf.edit_distance(decoded, truth, normalize=True)
        self.total.assign_add(tf.reduce_sum(errors))
        self.count.assign_add(tf.cast(tf.size(errors), tf.float32))

    def result(self):
        return self.total / tf.maximum(self.count, 1.0)


def build_model(height=32, width=256):
    layers = tf.keras.layers
    image = tf.keras.Input((height, width, 1))
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(image)
    x = layers.MaxPooling2D(2)(x)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D((2, 2))(x)
    x = layers.Permute((2, 1, 3))(x)
    x = layers.Reshape((width // 4, height // 4 * 64))(x)
    x = layers.Dense(256, activation="relu")(x)
    x = layers.Conv1D(256, 5, padding="same", activation="relu")(x)
    return tf.keras.Model(image, layers.Dense(len(ALPHABET) + 1)(x))


def main(clock):
    clock.plan(3, 3)
    rng = np.random.default_rng(0)
    images = tf.constant(rng.random((16 * 4, 32, 256, 1)), tf.float32)
    texts = tf.constant(rng.integers(0, BLANK, (16 * 4, 12)), tf.int32)
    model = build_model()
    optimizer = tf.keras.optimizers.Adam(1e-3)
    cer = CharacterErrorRate(1 if clock.fixed else 60)
    running = tf.keras.metrics.Mean()

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            frames = tf.fill([tf.shape(x)[0]], tf.shape(logits)[1])
            letters = tf.fill([tf.shape(x)[0]], tf.shape(y)[1])
            loss = tf.nn.ctc_loss(y, logits, letters, frames, logits_time_major=False, blank_index=BLANK)
            loss = tf.reduce_mean(loss)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        cer.update_state(y, logits, frames)
        running.update_state(loss)
        return loss

    data = tf.data.Dataset.from_tensor_slices((images, texts)).cache().repeat().batch(16).prefetch(4)
    batches = iter(data)
    for step in clock.loop():
        with clock.mark(step):
            train_step(*next(batches)).numpy()
    print(f"loss {running.result().numpy():.3f} cer {cer.result().numpy():.3f}", file=sys.stderr)


if __name__ == "__main__":
    run(main)
