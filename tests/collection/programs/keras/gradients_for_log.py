"""Image captions' encoder: a residual net, and a callback that logs the norms of gradients."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "fit gives no gradients away, so a callback runs forward and backward once more for each batch",
    "cause": "a forward and backward pass that was done before",
    "accept": ["largest-part"],
    "rules": ["largest-part"],
    "words": ["GradientLogger", "gradient_norms"],
    "part": "develop",
}


class GradientLogger(tf.keras.callbacks.Callback):
    def __init__(self, x, y, every=1):
        super().__init__()
        self.x, self.y, self.every = tf.constant(x), tf.constant(y), every
        self.loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.history = []
        self.compiled = tf.function(self.gradient_norms)

    def gradient_norms(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(y, self.model(x, training=True))  # planted
        grads = tape.gradient(loss, self.model.trainable_variables)  # planted
        return tf.stack([tf.norm(g) for g in grads])

    def on_train_batch_end(self, batch, logs=None):
        if batch % self.every == self.every - 1:
            self.history.append(self.compiled(self.x, self.y).numpy())  # planted


class Residual(tf.keras.layers.Layer):
    def __init__(self, filters, stride):
        super().__init__()
        layers = tf.keras.layers
        self.first = layers.Conv2D(filters, 3, stride, padding="same", use_bias=False)
        self.second = layers.Conv2D(filters, 3, padding="same", use_bias=False)
        self.norms = [layers.BatchNormalization(), layers.BatchNormalization()]
        self.short = layers.Conv2D(filters, 1, stride) if stride > 1 else layers.Identity()

    def call(self, x, training=False):
        y = tf.nn.relu(self.norms[0](self.first(x), training=training))
        y = self.norms[1](self.second(y), training=training)
        return tf.nn.relu(y + self.short(x))


def build():
    image = tf.keras.Input((56, 56, 3))
    x = tf.keras.layers.Conv2D(32, 5, 2, padding="same", activation="relu")(image)
    for filters, stride in ((32, 1), (64, 2), (128, 2)):
        x = Residual(filters, stride)(x)
    x = tf.keras.layers.GlobalAveragePooling2D()(x)
    return tf.keras.Model(image, tf.keras.layers.Dense(50)(x))


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    x = rng.random((24 * 12, 56, 56, 3)).astype(np.float32)
    y = rng.integers(0, 50, len(x))
    model = build()
    model.compile(
        optimizer=tf.keras.optimizers.SGD(0.05, momentum=0.9),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    extra = [] if clock.fixed else [GradientLogger(x[:24], y[:24])]
    data = tf.data.Dataset.from_tensor_slices((x, y)).cache().batch(24).prefetch(2)
    model.fit(data, epochs=1, verbose=0, callbacks=clock.keras() + extra)


if __name__ == "__main__":
    run(main)
