"""Steering by pictures: a custom train_step with metrics of its own."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "train_step runs the net on the batch a second time for its metrics, although it has just predicted it for the loss",
    "cause": "the same forward pass twice",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["update_metrics", "_FusedConv2D"],
    "part": "develop",
}

SIZE, BATCH = 48, 16
L = tf.keras.layers


class Driver(tf.keras.Model):
    def __init__(self, predict_again):
        super().__init__()
        self.predict_again = predict_again
        self.body = tf.keras.Sequential()
        for width, stride in ((24, 1), (32, 2), (48, 2), (64, 2)):
            self.body.add(L.Conv2D(width, 3, stride, "same", activation="relu"))
        self.head = tf.keras.Sequential([L.GlobalAveragePooling2D(), L.Dropout(0.1), L.Dense(64, activation="relu"), L.Dense(1)])
        self.error = tf.keras.metrics.MeanAbsoluteError(name="mae")
        self.close = tf.keras.metrics.Mean(name="within_5_degrees")

    @property
    def metrics(self):
        return [self.error, self.close]

    def call(self, x, training=None):
        return self.head(self.body(x), training=training)

    def update_metrics(self, x, y, predicted):
        if self.predict_again:
            predicted = self(x, training=False)  # planted
        self.error.update_state(y, predicted)
        self.close.update_state(tf.cast(tf.abs(y - predicted) < 5.0 / 180.0, tf.float32))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            loss = tf.reduce_mean(tf.square(y - predicted))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        self.update_metrics(x, y, predicted)
        return {metric.name: metric.result() for metric in self.metrics} | {"loss": loss}


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    x = rng.random((BATCH * 8, SIZE, SIZE, 3), dtype="float32")
    y = rng.standard_normal((len(x), 1)).astype("float32")
    model = Driver(predict_again=not clock.fixed)
    model.compile(tf.keras.optimizers.SGD(1e-2))
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).prefetch(2)
    model.fit(data, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
