"""Next-item recommender (GRU4Rec without the GRU) on a CSV with lists in its columns."""
import ast
import csv
import queue
import sys
import threading
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a thread that feeds batches turns the lists of a CSV into numbers by ast.literal_eval",
    "cause": "the producer of batches is slow Python",
    "accept": ["largest-part", "input-bound", "python-bound", "gil-contention", "host-input-limit", "python-in-pipeline", "no-cache"],
    "rules": ["input-bound", "python-bound", "gil-contention", "largest-part"],
    "words": ["literal_eval", "parse_row", "Feeder"],
    "part": "develop",
}

ITEMS, LENGTH, BATCH = 5000, 60, 256


def write_sessions(folder, rows=2048):
    rng = np.random.default_rng(0)
    path = Path(folder) / "sessions.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "items", "dwell", "label"])
        for user in range(rows):
            items = rng.integers(1, ITEMS, LENGTH).tolist()
            dwell = [round(one, 3) for one in rng.exponential(10, LENGTH).tolist()]
            writer.writerow([user, items, dwell, int(rng.integers(1, ITEMS))])
    return path


def parse_row(row):
    return ast.literal_eval(row["items"]), ast.literal_eval(row["dwell"]), int(row["label"])  # planted


class Feeder(threading.Thread):
    """Keeps a few batches ready."""

    def __init__(self, path, parsed):
        super().__init__(daemon=True)
        with path.open(newline="") as file:
            self.rows = list(csv.DictReader(file))
        self.known = [parse_row(row) for row in self.rows] if parsed else None
        self.ready = queue.Queue(maxsize=4)
        self.ended = threading.Event()
        if parsed:
            items, dwell, labels = zip(*self.known)
            self.known = np.array(items, np.int32), np.array(dwell, np.float32), np.array(labels, np.int32)

    def batch(self, index):
        if self.known is not None:
            return tuple(column[index] for column in self.known)
        items, dwell, labels = zip(*[parse_row(self.rows[i]) for i in index])  # planted
        return np.array(items, np.int32), np.array(dwell, np.float32), np.array(labels, np.int32)

    def run(self):
        rng = np.random.default_rng(1)
        while not self.ended.is_set():
            made = self.batch(rng.integers(0, len(self.rows), BATCH))
            while not self.ended.is_set():
                try:
                    self.ready.put(made, timeout=0.2)
                    break
                except queue.Full:
                    pass


class NextItem(tf.Module):
    def __init__(self, width=96):
        super().__init__()
        self.items = tf.Variable(tf.random.normal((ITEMS, width), stddev=0.05))
        self.hidden = tf.keras.Sequential([tf.keras.layers.Dense(192, "relu"), tf.keras.layers.Dense(width)])
        self.hidden.build((None, width))

    def __call__(self, items, dwell):
        seen = tf.nn.embedding_lookup(self.items, items)
        weight = tf.nn.softmax(tf.math.log1p(dwell))[..., None]
        return self.hidden(tf.reduce_sum(seen * weight, 1))

    def scores(self, state):
        return tf.matmul(state, self.items, transpose_b=True)


def main(clock):
    clock.plan(6, 10)
    feeder = Feeder(write_sessions(clock.folder), parsed=clock.fixed)
    model, optimizer = NextItem(), tf.keras.optimizers.Adagrad(0.05)

    @tf.function
    def train_step(items, dwell, labels):
        with tf.GradientTape() as tape:
            logits = model.scores(model(items, dwell))
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        variables = model.trainable_variables
        grads = [tf.convert_to_tensor(one) for one in tape.gradient(loss, variables)]
        optimizer.apply_gradients(zip(grads, variables))
        return loss

    feeder.start()
    for step in clock.loop():
        with clock.mark(step):
            batch = feeder.ready.get()
            loss = train_step(*[tf.constant(one) for one in batch])
            if step % 5 == 0:
                loss.numpy()
    feeder.ended.set()
    feeder.join()


if __name__ == "__main__":
    run(main)
