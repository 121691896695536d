import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "bags of words are made dense, and nearly all of the first product is zeros",
    "cause": "dense work for sparse data",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["to_dense", "SparseToDense", "bag", "MatMul"],
    "part": "develop",
}

VOCABULARY, WIDTH = 30_000, 64


class TextClassifier(tf.Module):
    def __init__(self):
        super().__init__()
        self.table = tf.Variable(tf.random.normal([VOCABULARY, WIDTH], stddev=0.02))
        self.hidden = tf.Variable(tf.random.normal([WIDTH, 256], stddev=0.1))
        self.out = tf.Variable(tf.random.normal([256, 4], stddev=0.1))

    def bag(self, tokens):
        return tf.matmul(tf.sparse.to_dense(tokens), self.table)  # planted

    def __call__(self, tokens):
        return tf.nn.relu(self.bag(tokens) @ self.hidden) @ self.out


class SparseTextClassifier(TextClassifier):
    def bag(self, tokens):
        return tf.sparse.sparse_dense_matmul(tokens, self.table)


def documents(count, words):
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, VOCABULARY, (count, words)), 1) // words * words + np.arange(words)
    rows = np.repeat(np.arange(count), words)
    index = np.stack([rows, np.minimum(columns.ravel(), VOCABULARY - 1)], 1)
    index = np.unique(index, axis=0)
    return tf.sparse.SparseTensor(index, np.ones(len(index), np.float32), (count, VOCABULARY))


def main(clock):
    clock.plan(3, 6)
    tf.random.set_seed(0)
    model = (SparseTextClassifier if clock.fixed else TextClassifier)()
    x, y = documents(256, 40), tf.random.uniform([256], maxval=4, dtype=tf.int32)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x)))
        for variable, grad in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            variable.assign_sub(0.1 * grad)
        return loss

    for step in clock.loop():
        with clock.mark(step):
            train_step(x, y)


if __name__ == "__main__":
    run(main)
