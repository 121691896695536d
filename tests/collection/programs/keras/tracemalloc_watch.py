"""Text CNN, with a callback from the days when something leaked."""
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a callback takes a snapshot of tracemalloc after each batch to find a leak",
    "cause": "a debugging aid left on",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound", "largest-part"],
    "words": ["tracemalloc", "take_snapshot", "compare_to", "LeakWatch"],
    "part": "develop",
}

VOCABULARY, LENGTH = 8000, 200


class LeakWatch(tf.keras.callbacks.Callback):
    def __init__(self, top=5):
        super().__init__()
        self.top, self.before, self.grown = top, None, []

    def on_train_batch_end(self, batch, logs=None):
        now = tracemalloc.take_snapshot()  # planted
        if self.before is not None:
            for one in now.compare_to(self.before, "filename")[: self.top]:  # planted
                self.grown.append((batch, one.size_diff, one.traceback[0].filename))
        self.before = now


class WarmUp(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, peak, steps):
        self.peak, self.steps = peak, steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32) + 1.0
        return self.peak * tf.minimum(step / self.steps, tf.sqrt(self.steps / step))


def text_cnn():
    layers = tf.keras.layers
    tokens = tf.keras.Input((LENGTH,), dtype="int32")
    x = layers.Embedding(VOCABULARY, 96)(tokens)
    x = layers.SpatialDropout1D(0.2)(x)
    pooled = []
    for size in (3, 4, 5):
        y = layers.Conv1D(128, size, activation="relu")(x)
        pooled.append(layers.GlobalMaxPooling1D()(y))
    x = layers.Concatenate()(pooled)
    x = layers.Dropout(0.5)(x)
    return tf.keras.Model(tokens, layers.Dense(20, activation="softmax")(x))


def main(clock):
    clock.plan(3, 5)
    if not clock.fixed:
        tracemalloc.start()
    rng = np.random.default_rng(0)
    x = rng.integers(0, VOCABULARY, (64 * 10, LENGTH)).astype(np.int32)
    y = rng.integers(0, 20, len(x))
    model = text_cnn()
    model.compile(
        optimizer=tf.keras.optimizers.Adam(WarmUp(1e-3, 200.0)),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(),
        metrics=["sparse_categorical_accuracy"],
    )
    callbacks = clock.keras()
    if not clock.fixed:
        callbacks.append(LeakWatch())
    model.fit(x, y, batch_size=64, epochs=1, verbose=0, callbacks=callbacks)
    tracemalloc.stop()


if __name__ == "__main__":
    run(main)
