"""Semi-supervised GCN (Kipf & Welling) on a citation-like graph."""
import argparse
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the edges of the graph, which never change, are sorted and normalised again in each step: tf.sparse.reorder",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["SparseReorder", "sparse_reorder", "normalise", "sparse.reorder"],
    "part": "develop",
}

args = argparse.Namespace(nodes=3000, edges=70_000, features=256, hidden=48, classes=7, lr=0.02)


def make_graph():
    rng = np.random.default_rng(5)
    pairs = rng.integers(0, args.nodes, (args.edges, 2))
    x = (rng.random((args.nodes, args.features)) < 0.05).astype("float32")
    return pairs, x, rng.integers(0, args.classes, args.nodes), rng.random(args.nodes) < 0.1


def normalise(pairs, nodes):
    adjacency = tf.SparseTensor(pairs, tf.ones(tf.shape(pairs)[0]), [nodes, nodes])
    adjacency = tf.sparse.reorder(adjacency)  # planted
    degree = tf.math.unsorted_segment_sum(adjacency.values, adjacency.indices[:, 0], nodes)
    scale = tf.math.rsqrt(tf.maximum(degree, 1.0))
    rows, columns = adjacency.indices[:, 0], adjacency.indices[:, 1]
    values = adjacency.values * tf.gather(scale, rows) * tf.gather(scale, columns)
    return tf.SparseTensor(adjacency.indices, values, [nodes, nodes])


class GCN(tf.Module):
    def __init__(self):
        super().__init__()
        glorot = tf.keras.initializers.GlorotUniform(seed=0)
        self.w0 = tf.Variable(glorot((args.features, args.hidden)))
        self.w1 = tf.Variable(glorot((args.hidden, args.classes)))

    def __call__(self, adjacency, x):
        h = tf.nn.relu(tf.sparse.sparse_dense_matmul(adjacency, x @ self.w0))
        return tf.sparse.sparse_dense_matmul(adjacency, h @ self.w1)


def main(clock):
    clock.plan(3, 6)
    pairs, x, y, mask = make_graph()
    pairs, x, y, mask = tf.constant(pairs), tf.constant(x), tf.constant(y), tf.constant(mask)
    model = GCN()
    ready = normalise(pairs, args.nodes)

    @tf.function
    def train_step(x):
        adjacency = ready if clock.fixed else normalise(pairs, args.nodes)  # planted
        with tf.GradientTape() as tape:
            logits = tf.boolean_mask(model(adjacency, x), mask)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.boolean_mask(y, mask), logits)
            loss = tf.reduce_mean(losses) + 5e-4 * tf.nn.l2_loss(model.w0)
        for v, g in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            v.assign_sub(args.lr * g)
        return loss

    for step in clock.loop():
        with clock.mark(step, "epoch"):
            loss = train_step(x)
    print("loss", loss.numpy())


if __name__ == "__main__":
    run(main)
