"""Faces: age, gender, expression and pose with one trunk, by a train_step of its own."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "train_step goes back through the shared trunk once for each of four losses and adds the gradients up",
    "cause": "a backward pass for each loss",
    "accept": ["largest-part", "repeated-gradients"],
    "rules": ["largest-part", "repeated-gradients"],
    "words": ["gradients_by_task", "persistent"],
    "part": "develop",
}

TASKS = {"age": 1, "gender": 2, "expression": 7, "pose": 3}
WEIGHTS = {"age": 0.5, "gender": 1.0, "expression": 1.0, "pose": 2.0}


class Trunk(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        layers = tf.keras.layers
        self.stages = [layers.Conv2D(n, 3, 2, padding="same", activation="relu") for n in (48, 96, 160)]
        self.mixing = [layers.Conv2D(n, 3, padding="same", activation="relu") for n in (48, 96, 160)]

    def call(self, x):
        for stage, mix in zip(self.stages, self.mixing):
            x = stage(x)
            x = x + mix(x)
        return tf.reduce_mean(x, (1, 2))


class MultiTask(tf.keras.Model):
    def __init__(self, at_once):
        super().__init__()
        self.at_once = at_once
        self.trunk = Trunk()
        self.heads = {name: tf.keras.layers.Dense(n, name=name) for name, n in TASKS.items()}
        self.age, self.gender = self.heads["age"], self.heads["gender"]
        self.expression, self.pose = self.heads["expression"], self.heads["pose"]
        self.tracker = tf.keras.metrics.Mean(name="loss")

    def call(self, x, training=False):
        features = self.trunk(x)
        return {name: head(features) for name, head in self.heads.items()}

    def losses_of(self, y, outputs):
        cross = tf.nn.sparse_softmax_cross_entropy_with_logits
        return {
            "age": WEIGHTS["age"] * tf.reduce_mean(tf.abs(outputs["age"][:, 0] - y["age"])),
            "gender": WEIGHTS["gender"] * tf.reduce_mean(cross(y["gender"], outputs["gender"])),
            "expression": WEIGHTS["expression"] * tf.reduce_mean(cross(y["expression"], outputs["expression"])),
            "pose": WEIGHTS["pose"] * tf.reduce_mean((outputs["pose"] - y["pose"]) ** 2),
        }

    def gradients_by_task(self, tape, losses, variables):
        total = None
        for loss in losses.values():
            grads = tape.gradient(loss, variables)  # planted
            # A head knows nothing of the other losses.
            grads = [tf.zeros(v.shape) if g is None else g for g, v in zip(grads, variables)]
            total = grads if total is None else [a + b for a, b in zip(total, grads)]
        return total

    def train_step(self, data):
        x, y = data
        with tf.GradientTape(persistent=True) as tape:
            losses = self.losses_of(y, self(x, training=True))
            loss = tf.add_n(list(losses.values()))
        variables = self.trainable_variables
        if self.at_once:
            grads = tape.gradient(loss, variables)
        else:
            grads = self.gradients_by_task(tape, losses, variables)
        self.optimizer.apply_gradients(zip(grads, variables))
        self.tracker.update_state(loss)
        return {"loss": self.tracker.result()}

    @property
    def metrics(self):
        return [self.tracker]


def main(clock):
    clock.plan(3, 5)
    rng = np.random.default_rng(0)
    count = 32 * 10
    x = rng.random((count, 64, 64, 3)).astype(np.float32)
    y = {
        "age": rng.random(count).astype(np.float32),
        "gender": rng.integers(0, 2, count),
        "expression": rng.integers(0, 7, count),
        "pose": rng.normal(size=(count, 3)).astype(np.float32),
    }
    model = MultiTask(at_once=clock.fixed)
    model.compile(optimizer=tf.keras.optimizers.Adam(3e-4))
    data = tf.data.Dataset.from_tensor_slices((x, y)).cache().batch(32).prefetch(2)
    model.fit(data, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
