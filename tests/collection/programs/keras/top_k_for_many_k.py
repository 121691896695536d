"""Next article of a news site: average of what was read, softmax over all articles."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "eight metrics each look for the top k of all articles in each batch of training, once for every k; the rank of the true one would give them all",
    "cause": "a metric that costs more than the model",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["metrics_at", "HitRate", "update_state", "InTopK", "InTopKV2", "TopKV2", "in_top_k", "top_k"],
    "part": "score",
}

ARTICLES, READ, DIM, BATCH = 6000, 12, 48, 256


class HitRate(tf.keras.metrics.Metric):
    """Share of readers whose next article is among the k best."""

    def __init__(self, k):
        super().__init__(name=f"hit_{k}")
        self.k = k
        self.hits = self.add_weight(name="hits", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        best = tf.math.top_k(y_pred, self.k).indices  # planted
        hit = tf.reduce_any(best == tf.cast(tf.reshape(y_true, [-1, 1]), tf.int32), -1)
        self.hits.assign_add(tf.reduce_sum(tf.cast(hit, tf.float32)))
        self.count.assign_add(tf.cast(tf.size(hit), tf.float32))

    def result(self):
        return self.hits / self.count


class MeanRank(tf.keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="rank")
        self.total = self.add_weight(name="total", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        ids = tf.cast(tf.reshape(y_true, [-1, 1]), tf.int32)
        score = tf.gather(y_pred, ids, batch_dims=1)
        rank = tf.reduce_sum(tf.cast(y_pred > score, tf.float32), -1)
        self.total.assign_add(tf.reduce_sum(rank))
        self.count.assign_add(tf.cast(tf.size(rank), tf.float32))

    def result(self):
        return self.total / self.count


def metrics_at(ks):
    return [HitRate(k) for k in ks]


def main(clock):
    clock.plan(3, 3)
    rng = np.random.default_rng(0)
    read, following = rng.integers(0, ARTICLES, (4096, READ)), rng.integers(0, ARTICLES, 4096)
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Embedding(ARTICLES, DIM), layers.GlobalAveragePooling1D(), layers.Dense(DIM, activation="tanh"), layers.Dense(ARTICLES)])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    metrics = [MeanRank()] if clock.fixed else metrics_at([1, 3, 5, 10, 20, 30, 50, 100])
    model.compile(tf.keras.optimizers.SGD(0.1), loss, metrics=metrics)
    model.fit(read, following, batch_size=BATCH, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
