"""Communities in a graph of papers: a graph net whose loss keeps its clusters apart."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "for the largest eigenvalue of the matrix of similarities all eigenvalues and vectors are computed; a few products with the last step's vector find it",
    "cause": "an algorithm that does more than it must",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["largest_by_eigh", "SelfAdjointEig", "SelfAdjointEigV2", "eigh", "Eig"],
    "part": "score",
}

PAPERS, WORDS, HIDDEN, CLUSTERS = 240, 512, 128, 12


def largest_by_eigh(matrix):
    values, vectors = tf.linalg.eigh(tf.stop_gradient(matrix))  # planted
    v = vectors[:, -1:]
    return tf.squeeze(tf.transpose(v) @ matrix @ v)


class Largest(tf.Module):
    """Power iteration that goes on where the last step's ended."""

    def __init__(self, rounds=4):
        super().__init__()
        self.v, self.rounds = tf.Variable(tf.ones([PAPERS, 1]), trainable=False), rounds

    def __call__(self, matrix):
        v, fixed = self.v, tf.stop_gradient(matrix)
        for _ in range(self.rounds):
            v = tf.math.l2_normalize(fixed @ v)
        self.v.assign(v)
        return tf.squeeze(tf.transpose(v) @ matrix @ v)


def adjacency(rng):
    a = (rng.random((PAPERS, PAPERS)) < 0.03).astype(np.float32)
    a = np.maximum(a, a.T) + np.eye(PAPERS, dtype=np.float32)
    d = a.sum(1) ** -0.5
    return tf.constant(d[:, None] * a * d)


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(0)
    rng = np.random.default_rng(0)
    a, x = adjacency(rng), tf.constant(rng.random((PAPERS, WORDS)).astype(np.float32))
    w1 = tf.Variable(tf.random.normal([WORDS, HIDDEN]) * WORDS**-0.5)
    w2 = tf.Variable(tf.random.normal([HIDDEN, CLUSTERS]) * HIDDEN**-0.5)
    largest = Largest() if clock.fixed else largest_by_eigh

    @tf.function
    def train_step():
        with tf.GradientTape() as tape:
            h = tf.nn.relu(a @ (x @ w1))
            soft = tf.nn.softmax(a @ (h @ w2))
            cut = -tf.linalg.trace(tf.transpose(soft) @ a @ soft) / PAPERS
            similar = tf.math.l2_normalize(h, 1) @ tf.transpose(tf.math.l2_normalize(h, 1))
            loss = cut + 0.1 * largest(similar) / PAPERS
        for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2))):
            w.assign_sub(0.05 * g)
        return loss

    for step in clock.loop():
        with clock.mark(step, "epoch"):
            float(train_step())


if __name__ == "__main__":
    run(main)
