"""Conv autoencoder with anomaly scores; every few batches the activations are looked at."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each third batch a callback makes a new model for every layer and calls its predict, to look at activations",
    "cause": "models made and traced again for a log",
    "accept": ["largest-part", "retracing", "recompilation", "python-bound", "uneven-steps", "slow-steps"],
    "rules": ["retracing", "python-bound", "uneven-steps", "slow-steps", "largest-part"],
    "words": ["get_activations", "ActivationLogger", "predict", "make_predict_function"],
    "part": "develop",
}


def get_activations(model, layer, x):
    """From the answer that everybody copies."""
    inner = tf.keras.Model(inputs=model.inputs, outputs=layer.output)  # planted
    return inner.predict(x, verbose=0)  # planted


class ActivationLogger(tf.keras.callbacks.Callback):
    def __init__(self, sample, every=3):
        super().__init__()
        self.sample, self.every, self.dead = sample, every, {}

    def on_train_batch_end(self, batch, logs=None):
        if batch % self.every:
            return
        for layer in self.model.layers[1:]:
            if "conv" in layer.name:
                values = get_activations(self.model, layer, self.sample)  # planted
                self.dead.setdefault(layer.name, []).append(float((values <= 0).mean()))


class AnomalyScore:
    """What is above this quantile of errors is called an anomaly."""

    def __init__(self, model, quantile=0.99):
        self.model, self.quantile, self.threshold = model, quantile, None

    def fit(self, x):
        self.threshold = np.quantile(self(x), self.quantile)
        return self

    def __call__(self, x):
        return np.square(self.model.predict(x, verbose=0) - x).mean((1, 2, 3))


def autoencoder():
    layers = tf.keras.layers
    image = tf.keras.Input((64, 64, 1))
    x = layers.Conv2D(48, 3, 2, padding="same", activation="relu")(image)
    x = layers.Conv2D(96, 3, 2, padding="same", activation="relu")(x)
    x = layers.Conv2D(24, 3, padding="same", activation="relu")(x)
    x = layers.Conv2DTranspose(96, 3, 2, padding="same", activation="relu")(x)
    x = layers.Conv2DTranspose(48, 3, 2, padding="same", activation="relu")(x)
    return tf.keras.Model(image, layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x))


def main(clock):
    clock.plan(4, 6)
    x = np.random.default_rng(0).random((64 * 11, 64, 64, 1)).astype(np.float32)
    model = autoencoder()
    model.compile(optimizer="adam", loss="mse")
    callbacks = clock.keras()
    if not clock.fixed:
        callbacks.append(ActivationLogger(x[:8]))
    model.fit(x, x, batch_size=64, epochs=1, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    run(main)
