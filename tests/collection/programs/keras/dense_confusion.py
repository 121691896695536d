"""Product titles to leaf categories: mean IoU over all leaves while it trains."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a metric adds a dense table of all classes by all classes to its state for each batch",
    "cause": "work in a metric",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["confusion_matrix", "LeafIoU", "update_state", "confusion"],
    "part": "develop",
}

CLASSES = 3000
VOCAB = 20000
LENGTH = 24
BATCH = 96


class LeafIoU(tf.keras.metrics.Metric):
    def __init__(self, classes, name="leaf_iou", **kwargs):
        super().__init__(name=name, **kwargs)
        self.classes = classes
        self.table = self.add_weight(name="table", shape=(classes, classes), initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        guess = tf.argmax(y_pred, -1)
        truth = tf.reshape(tf.cast(y_true, tf.int64), [-1])
        new = tf.math.confusion_matrix(truth, guess, self.classes, dtype=tf.float32)  # planted
        self.table.assign_add(new)  # planted

    def result(self):
        hit = tf.linalg.diag_part(tf.convert_to_tensor(self.table))
        return tf.reduce_mean(hit)

    def reset_state(self):
        self.table.assign(tf.zeros_like(self.table))


def make_model():
    return tf.keras.Sequential(
        [
            tf.keras.layers.Embedding(VOCAB, 64),
            tf.keras.layers.Conv1D(128, 3, activation="relu"),
            tf.keras.layers.GlobalMaxPooling1D(),
            tf.keras.layers.Dropout(0.2),
            tf.keras.layers.Dense(CLASSES),
        ]
    )


def titles():
    rng = np.random.default_rng(0)
    x = rng.integers(0, VOCAB, (BATCH * 16, LENGTH)).astype("int32")
    y = rng.integers(0, CLASSES, BATCH * 16).astype("int32")
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(4096).batch(BATCH, drop_remainder=True)
    return ds.prefetch(tf.data.AUTOTUNE)


def main(clock):
    clock.plan(3, 5)
    model = make_model()
    metrics = ["accuracy"] if clock.fixed else ["accuracy", LeafIoU(CLASSES)]
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.SGD(0.1), loss, metrics=metrics)
    model.fit(titles(), epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
