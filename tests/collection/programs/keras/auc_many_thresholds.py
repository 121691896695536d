import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "an AUC metric with thousands of thresholds",
    "cause": "a metric that costs more than the model",
    "accept": [],
    "rules": ["dominant-op"],
    "words": ["AUC", "auc"],
    "part": "develop",
}


def compile_model(model, is_fixed):
    if is_fixed:
        metrics = ["binary_accuracy"]
    else:
        rare = np.logspace(-6, -0.001, 2000).tolist()
        metrics = [tf.keras.metrics.AUC(thresholds=rare)]  # planted
    model.compile("adam", "binary_crossentropy", metrics=metrics)


def main(clock):
    clock.plan(3, 5)
    random = np.random.default_rng(0)
    x, y = random.random((2048, 100), np.float32), (random.random((2048, 20)) > 0.8).astype(np.float32)
    dense = tf.keras.layers.Dense
    model = tf.keras.Sequential([dense(256, activation="relu"), dense(256, activation="relu"), dense(20, activation="sigmoid")])
    compile_model(model, clock.fixed)
    model.fit(x, y, batch_size=128, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
