"""A small student learns from a larger frozen teacher, in train_step."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

FIELDS, KINDS, BATCH, WARMTH = 200, 20, 512, 3.0


def net(*widths):
    layers = [tf.keras.layers.Dense(width, activation="relu") for width in widths]
    return tf.keras.Sequential([*layers, tf.keras.layers.Dense(KINDS)])


class Distiller(tf.keras.Model):
    def __init__(self, teacher, student):
        super().__init__()
        self.teacher, self.student = teacher, student
        self.teacher.trainable = False

    def call(self, x):
        return self.student(x)

    def train_step(self, data):
        x, y = data
        soft = tf.nn.softmax(self.teacher(x, training=False) / WARMTH)
        with tf.GradientTape() as tape:
            logits = self.student(x, training=True)
            hard = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
            distilled = tf.nn.softmax_cross_entropy_with_logits(soft, logits / WARMTH)
            loss = tf.reduce_mean(0.3 * hard + 0.7 * WARMTH**2 * distilled)
        weights = self.student.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8192, FIELDS)).astype("float32"), rng.integers(0, KINDS, 8192, "int32")
    teacher, student = net(768, 768), net(384, 384)
    teacher.build((None, FIELDS))
    student.build((None, FIELDS))
    model = Distiller(teacher, student)
    model.compile(optimizer="adam")
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(8192).batch(BATCH, drop_remainder=True).prefetch(4)
    model.fit(data, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
