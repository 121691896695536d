"""DETR in small: queries matched with objects by the Hungarian algorithm in each step."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from scipy.optimize import linear_sum_assignment

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the Hungarian algorithm matches all 180 padded targets of a picture, of which five are objects",
    "cause": "padding",
    "accept": ["print-every-step", "largest-part", "python-bound", "dominant-op", "host-waits"],
    "rules": ["python-bound", "dominant-op", "host-waits"],
    "words": ["linear_sum_assignment", "match_queries", "PyFunc", "EagerPyFunc", "numpy_function"],
    "part": "develop",
}

QUERIES, OBJECTS, WIDTH, CLASSES, BATCH, PATCHES = 180, 5, 64, 10, 3, 64


def match_queries(costs, counts, only_objects):
    """For each target of each picture the query that it belongs to."""
    found = np.zeros((len(costs), QUERIES), "int32")
    for i, (cost, count) in enumerate(zip(costs, counts)):
        if only_objects:
            rows, columns = linear_sum_assignment(cost[:, :count])
        else:
            rows, columns = linear_sum_assignment(cost)  # planted
        found[i, columns] = rows
    return found


class DETR(tf.keras.Model):
    def __init__(self):
        super().__init__()
        dense = tf.keras.layers.Dense
        self.queries = self.add_weight(name="queries", shape=(QUERIES, WIDTH), initializer="random_normal")
        self.embed, self.q, self.kv, self.classes, self.boxes = dense(WIDTH), dense(WIDTH), dense(2 * WIDTH), dense(CLASSES), dense(4, "sigmoid")

    def call(self, patches):
        x = self.embed(patches)
        k, v = tf.split(self.kv(x), 2, -1)
        scores = tf.einsum("qd,bpd->bqp", self.q(self.queries), k) / WIDTH**0.5
        y = self.queries + tf.nn.softmax(scores) @ v
        return self.classes(y), self.boxes(y)


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(0)
    model, optimizer = DETR(), tf.keras.optimizers.SGD(1e-3)
    matcher = lambda costs, counts: match_queries(costs, counts, clock.fixed)

    @tf.function
    def train_step(patches, classes, boxes, counts):
        with tf.GradientTape() as tape:
            logits, found = model(patches)
            likely = tf.gather(tf.nn.softmax(logits), classes, axis=-1, batch_dims=1)
            costs = tf.reduce_sum(tf.abs(found[:, :, None] - boxes[:, None]), -1) - likely
            rows = tf.reshape(tf.numpy_function(matcher, [costs, counts], tf.int32), [BATCH, QUERIES])
            real = tf.sequence_mask(counts, QUERIES, tf.float32)
            apart = tf.reduce_sum(tf.abs(tf.gather(found, rows, batch_dims=1) - boxes), -1)
            unlikely = tf.nn.sparse_softmax_cross_entropy_with_logits(classes, tf.gather(logits, rows, batch_dims=1))
            loss = tf.reduce_sum(real * (apart + unlikely)) / tf.reduce_sum(real)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    patches = tf.random.normal([BATCH, PATCHES, 48])
    counts = tf.fill([BATCH], OBJECTS)
    classes, boxes = tf.random.uniform([BATCH, QUERIES], 0, CLASSES, tf.int32), tf.random.uniform([BATCH, QUERIES, 4])
    for step in clock.loop():
        with clock.mark(step):
            train_step(patches, classes, boxes, counts)


if __name__ == "__main__":
    run(main)
