"""Reads short words in pictures: convolutions, a recurrent layer, CTC by TensorFlow's own loss."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "score"}

HEIGHT, LENGTH, LETTERS, LONGEST, BATCH = 32, 96, 37, 8, 32
L = tf.keras.layers


def reader():
    image = tf.keras.Input((HEIGHT, LENGTH, 1))
    x = image
    for width in (16, 32, 64):
        x = L.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = L.MaxPooling2D((2, 2) if width < 64 else (2, 1))(x)
    x = L.Permute((2, 1, 3))(x)
    x = L.Reshape((LENGTH // 4, HEIGHT // 8 * 64))(x)
    x = L.Bidirectional(L.GRU(48, return_sequences=True))(x)
    return tf.keras.Model(image, L.Dense(LETTERS + 1)(x))


class Reader(tf.keras.Model):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def call(self, image):
        return self.net(image)

    def train_step(self, data):
        image, word = data
        with tf.GradientTape() as tape:
            logits = self.net(image, training=True)
            size = tf.fill([BATCH], LENGTH // 4)
            loss = tf.reduce_mean(tf.nn.ctc_loss(word, logits, tf.fill([BATCH], LONGEST), size, logits_time_major=False, blank_index=LETTERS))
        weights = self.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


def main(clock):
    clock.plan(3, 3)
    rng = np.random.default_rng(0)
    images, words = rng.random((384, HEIGHT, LENGTH, 1), np.float32), rng.integers(0, LETTERS, (384, LONGEST), "int32")
    model = Reader(reader())
    model.compile(optimizer=tf.keras.optimizers.Adam(1e-3))
    data = tf.data.Dataset.from_tensor_slices((images, words)).batch(BATCH, drop_remainder=True).prefetch(2)
    model.fit(data, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
