"""Fraud in card payments: a plain net whose learning rate falls when the loss no longer does."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the callback fits a polynomial to all losses of a run of many thousand batches, read back from the last session, after each batch; it acts on it once an epoch",
    "cause": "a slow callback",
    "accept": ["largest-part", "slow-callback", "python-bound", "idle-device"],
    "rules": ["slow-callback", "python-bound", "idle-device"],
    "words": ["RateByTrend", "slope", "polyfit", "lstsq"],
    "part": "score",
}

FIELDS, ROWS, BATCH = 30, 32_768, 1024


class RateByTrend(tf.keras.callbacks.Callback):
    def __init__(self, earlier, each_batch, patience=0.0):
        super().__init__()
        self.losses, self.each_batch, self.patience = list(earlier), each_batch, patience
        self.slope_now = 0.0

    def slope(self):
        y = np.log(np.asarray(self.losses))
        x = np.linspace(-1, 1, len(y))
        return np.polyfit(x, y, 3)[-2]  # planted

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])
        if self.each_batch:
            self.slope_now = self.slope()

    def on_epoch_end(self, epoch, logs=None):
        if self.slope() > self.patience:
            self.model.optimizer.learning_rate = 0.5 * float(self.model.optimizer.learning_rate)


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    payments = rng.normal(size=(ROWS, FIELDS)).astype("float32")
    fraud = (payments[:, 0] + rng.normal(size=ROWS) > 2.5).astype("float32")
    dense, drop = tf.keras.layers.Dense, tf.keras.layers.Dropout
    model = tf.keras.Sequential(
        [tf.keras.Input((FIELDS,)), dense(256, activation="relu"), drop(0.3), dense(256, activation="relu"), drop(0.3), dense(1, activation="sigmoid")]
    )
    model.compile(optimizer="adam", loss="binary_crossentropy")
    earlier = 0.7 * np.exp(-np.linspace(0, 1, 60_000)) + 0.05 * rng.random(60_000)
    callbacks = [*clock.keras(), RateByTrend(earlier, each_batch=not clock.fixed)]
    model.fit(payments, fraud, batch_size=BATCH, epochs=1, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    run(main)
