"""Power plants: their output from ambient readings, straight out of CSV files with tf.data."""
import os
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each line of text is parsed by a call of its own, and again in every epoch; decode_csv takes a whole batch of lines",
    "cause": "input, row by row",
    "accept": ["largest-part", "input-bound", "host-input-limit", "no-cache", "batch-after-map", "serial-map", "missing-prefetch", "few-input-threads"],
    "rules": ["input-bound", "host-input-limit", "no-cache", "batch-after-map", "serial-map", "missing-prefetch", "few-input-threads"],
    "words": ["DecodeCSV", "decode_csv", "parse_line", "make_dataset", "IteratorGetNext", "ParallelMap", "MapDataset", "Map"],
    "part": "score",
}

COLUMNS, ROWS, BATCH = 60, 4000, 256


def write_file(folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "plants.csv")
    readings = np.random.default_rng(0).normal(20, 5, (ROWS, COLUMNS + 1))
    np.savetxt(path, readings, "%.3f", ",")
    return path


def parse_line(line):
    fields = tf.io.decode_csv(line, [[0.0]] * (COLUMNS + 1))  # planted
    return tf.stack(fields[:-1], -1), fields[-1]  # planted


def make_dataset(path, lines_together):
    lines = tf.data.TextLineDataset(path).repeat().shuffle(2000)
    if lines_together:
        return lines.batch(BATCH, drop_remainder=True).map(parse_line, 2).prefetch(2)
    return lines.map(parse_line, num_parallel_calls=2).batch(BATCH, drop_remainder=True).prefetch(2)  # planted


class Regressor(tf.Module):
    def __init__(self, *widths):
        super().__init__()
        sizes = [COLUMNS, *widths, 1]
        self.w = [tf.Variable(tf.random.normal([a, b]) * a**-0.5) for a, b in zip(sizes, sizes[1:])]
        self.b = [tf.Variable(tf.zeros([b])) for b in sizes[1:]]

    def __call__(self, x):
        x = (x - 20.0) / 5.0
        for w, b in zip(self.w[:-1], self.b):
            x = tf.nn.gelu(x @ w + b)
        return (x @ self.w[-1] + self.b[-1])[:, 0]


def main(clock):
    clock.plan(4, 3)
    tf.random.set_seed(0)
    path = write_file(os.path.join(clock.folder, "data"))
    model = Regressor(128, 128)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        for w, g in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            w.assign_sub(1e-4 * g)
        return loss

    rows = iter(make_dataset(path, lines_together=clock.fixed))
    for step in clock.loop():
        with clock.mark(step):
            x, y = next(rows)
            loss = train_step(x, y)
            float(loss)


if __name__ == "__main__":
    run(main)
