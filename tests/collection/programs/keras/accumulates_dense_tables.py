"""Songs that are heard together: large embeddings, gradients gathered over batches."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "train_step adds the gradient of a table of 40,000 songs to an accumulator as large as the table, although a batch touches a few hundred rows and no batches are gathered (accumulate = 1)",
    "cause": "sparse gradients made dense",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["AccumulatedModel", "UnsortedSegmentSum", "AssignAddVariableOp", "AssignSubVariableOp", "gather_gradients"],
    "part": "develop",
}

SONGS, WIDTH, BATCH, SESSION = 40_000, 64, 128, 8


class AccumulatedModel(tf.keras.Model):
    def __init__(self, accumulate, rate=0.1):
        super().__init__()
        self.accumulate, self.rate = accumulate, rate
        self.songs = tf.keras.layers.Embedding(SONGS, WIDTH)
        self.body = tf.keras.Sequential([tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(WIDTH)])
        self.seen = tf.Variable(0, trainable=False, dtype=tf.int64)

    def build(self, shape):
        self.songs.build((None, SESSION))
        self.body.build((None, WIDTH))
        self.gathered = [tf.Variable(tf.zeros(w.shape), trainable=False) for w in self.trainable_variables]
        self.built = True

    def call(self, ids):
        return self.body(tf.reduce_mean(self.songs(ids), 1))

    def gather_gradients(self, gradients):
        for kept, gradient in zip(self.gathered, gradients):
            kept.assign_add(tf.convert_to_tensor(gradient) / max(self.accumulate, 1))  # planted
        is_due = tf.cast(self.seen % self.accumulate == 0, tf.float32)
        for variable, kept in zip(self.trainable_variables, self.gathered):
            variable.assign_sub(is_due * self.rate * kept)  # planted
            kept.assign((1 - is_due) * kept)  # planted

    def apply_now(self, gradients):
        for variable, gradient in zip(self.trainable_variables, gradients):
            value = getattr(variable, "value", variable)
            value = value() if callable(value) else value
            if isinstance(gradient, tf.IndexedSlices):
                value.scatter_sub(tf.IndexedSlices(self.rate * gradient.values, gradient.indices))
            else:
                variable.assign_sub(self.rate * gradient)

    def train_step(self, data):
        ids, after = data
        self.seen.assign_add(1)
        with tf.GradientTape() as tape:
            likeness = tf.matmul(self(ids, training=True), self.songs(after), transpose_b=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.range(BATCH), likeness))
        gradients = tape.gradient(loss, self.trainable_variables)
        if self.accumulate:
            self.gather_gradients(gradients)
        else:
            self.apply_now(gradients)
        return {"loss": loss}


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    sessions = rng.integers(0, SONGS, (4096, SESSION + 1), "int32")
    model = AccumulatedModel(accumulate=0 if clock.fixed else 1)
    model.compile()
    model.fit(sessions[:, :-1], sessions[:, -1], batch_size=BATCH, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
