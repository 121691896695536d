"""Lipschitz-bounded classifier: all hidden kernels stay orthogonal."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a kernel constraint projects each kernel by a singular value decomposition after every update",
    "cause": "work in the optimizer",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["Svd", "svd", "Orthogonal"],
    "part": "develop",
}

HP = {"units": 160, "depth": 3, "batch": 1024, "lr": 0.05, "epochs": 4, "features": 256}


class Orthogonal(keras.constraints.Constraint):
    """Nearest orthogonal matrix, by Procrustes."""

    def __call__(self, w):
        s, u, v = tf.linalg.svd(tf.convert_to_tensor(w), full_matrices=False)  # planted
        return tf.matmul(u, v, adjoint_b=True)

    def get_config(self):
        return {}


def group_sort(x):
    a, b = tf.split(x, 2, axis=-1)
    return tf.concat([tf.maximum(a, b), tf.minimum(a, b)], -1)


def build_model(constrained):
    inputs = keras.Input((HP["features"],))
    x = layers.Dense(HP["units"], activation=group_sort)(inputs)
    for i in range(HP["depth"]):
        rule = Orthogonal() if constrained else None
        x = layers.Dense(HP["units"], activation=group_sort, kernel_constraint=rule, name=f"lip_{i}")(x)
    return keras.Model(inputs, layers.Dense(10)(x), name="lipschitz")


def load():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 16384)
    x = rng.standard_normal((16384, HP["features"])) + 0.3 * y[:, None]
    return x.astype("float32"), y.astype("int32")


def main(clock):
    clock.plan(3, 5)
    keras.utils.set_random_seed(0)
    model = build_model(constrained=not clock.fixed)
    model.compile(
        keras.optimizers.SGD(HP["lr"], momentum=0.9),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    ds = tf.data.Dataset.from_tensor_slices(load()).batch(HP["batch"], drop_remainder=True).cache().prefetch(2)
    model.fit(ds, epochs=HP["epochs"], verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
