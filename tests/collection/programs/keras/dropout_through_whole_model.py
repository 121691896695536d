"""How sure a diagnosis is: Monte Carlo dropout over skin pictures."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each of twelve passes with dropout runs the whole net, though dropout comes after its convolutions, whose features are the same each time",
    "cause": "work done again",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["uncertain_predictions", "_FusedConv2D", "Conv2D"],
    "part": "develop",
}

SIZE, BATCH, PASSES, CLASSES = 40, 8, 12, 7
L = tf.keras.layers


def backbone():
    inputs = x = tf.keras.Input((SIZE, SIZE, 3))
    for width in (16, 24, 32):
        x = L.Conv2D(width, 3, 2, "same", activation="relu")(x)
        x = L.Add()([x, L.Conv2D(width, 3, padding="same", activation="relu")(x)])
    return tf.keras.Model(inputs, L.Flatten()(x))


def head():
    features = x = tf.keras.Input((5 * 5 * 32,))
    for _ in range(2):
        x = L.Dropout(0.4)(L.Dense(128, activation="relu")(x))
    return tf.keras.Model(features, L.Dense(CLASSES, activation="softmax")(x))


class Diagnosis(tf.keras.Model):
    def __init__(self, features_once):
        super().__init__()
        self.features_once = features_once
        self.backbone, self.head = backbone(), head()

    def call(self, x, training=None):
        return self.head(self.backbone(x), training=training)

    @tf.function
    def uncertain_predictions(self, x):
        if self.features_once:
            features = self.backbone(x)
            passes = [self.head(features, training=True) for _ in range(PASSES)]
        else:
            passes = [self(x, training=True) for _ in range(PASSES)]  # planted
        mean = tf.reduce_mean(tf.stack(passes), 0)
        return mean, -tf.reduce_sum(mean * tf.math.log(mean + 1e-9), -1)


def main(clock):
    clock.plan(3, 3)
    rng = np.random.default_rng(0)
    pictures = tf.data.Dataset.from_tensor_slices(rng.random((BATCH * 8, SIZE, SIZE, 3), dtype="float32")).batch(BATCH).prefetch(2)
    model = Diagnosis(features_once=clock.fixed)
    doubtful = []
    for step, batch in enumerate(pictures):
        if clock.tick(step):
            break
        with clock.mark(step, "evaluate"):
            _, entropy = model.uncertain_predictions(batch)  # planted
            doubtful.append(entropy.numpy() > 1.5)


if __name__ == "__main__":
    run(main)
