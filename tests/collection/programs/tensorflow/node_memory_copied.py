"""A temporal graph net on a stream of transactions: each account has a memory, updated by its events."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the memory of all accounts is copied twice (tensor_scatter_nd_update, then assign) to change the rows of one batch; scatter_nd_update changes them in place",
    "cause": "a large array copied to change a few rows",
    "accept": ["largest-part", "dominant-op", "host-copies", "device-copies"],
    "rules": ["dominant-op", "host-copies", "device-copies"],
    "words": ["write_memory", "TensorScatterUpdate", "tensor_scatter_nd_update", "AssignVariableOp", "scatter"],
    "part": "score",
}

ACCOUNTS, DIM, FEATURES, BATCH = 80_000, 64, 16, 256


class TemporalGraph(tf.Module):
    def __init__(self, in_place):
        super().__init__()
        normal = lambda a, b: tf.Variable(tf.random.normal([a, b]) * a**-0.5)
        self.memory = tf.Variable(tf.zeros([ACCOUNTS, DIM]), trainable=False)
        self.gate, self.candidate = normal(2 * DIM + FEATURES, DIM), normal(2 * DIM + FEATURES, DIM)
        self.score = [normal(2 * DIM, DIM), normal(DIM, 1)]
        self.in_place = in_place

    def updated(self, ids, others, features):
        mine, other = tf.gather(self.memory, ids), tf.gather(self.memory, others)
        x = tf.concat([mine, other, features], -1)
        gate = tf.sigmoid(x @ self.gate)
        return (1 - gate) * mine + gate * tf.tanh(x @ self.candidate)

    def link(self, a, b):
        h = tf.nn.relu(tf.concat([a, b], -1) @ self.score[0])
        return (h @ self.score[1])[:, 0]

    def write_memory(self, ids, rows):
        if self.in_place:
            self.memory.scatter_nd_update(ids[:, None], rows)
        else:
            self.memory.assign(tf.tensor_scatter_nd_update(self.memory, ids[:, None], rows))  # planted


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(0)
    rng = np.random.default_rng(0)
    graph = TemporalGraph(in_place=clock.fixed)
    bce = tf.nn.sigmoid_cross_entropy_with_logits

    @tf.function
    def train_step(source, target, fake, features):
        with tf.GradientTape() as tape:
            a, b = graph.updated(source, target, features), graph.updated(target, source, features)
            true, false = graph.link(a, b), graph.link(a, tf.gather(graph.memory, fake))
            loss = tf.reduce_mean(bce(tf.ones_like(true), true) + bce(tf.zeros_like(false), false))
        variables = graph.trainable_variables
        for w, g in zip(variables, tape.gradient(loss, variables)):
            w.assign_sub(0.01 * g)
        graph.write_memory(source, a)
        graph.write_memory(target, b)
        return loss

    for step in clock.loop():
        with clock.mark(step, "events"):
            source, target, fake = rng.integers(0, ACCOUNTS, (3, BATCH))
            features = rng.normal(size=(BATCH, FEATURES)).astype("float32")
            float(train_step(source, target, fake, features))


if __name__ == "__main__":
    run(main)
