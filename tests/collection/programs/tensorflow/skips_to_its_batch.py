"""Prices of flats: training that can be resumed at any step, on records from a file."""
import os
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each step asks for its batch by dataset.skip(step).take(1), which reads and parses all batches before it again",
    "cause": "the pipeline is begun again in each step",
    "accept": ["largest-part", "restarted-pipeline", "input-bound", "growing-steps", "host-input-limit", "missing-prefetch", "python-bound", "serial-map", "no-cache"],
    "rules": ["restarted-pipeline", "input-bound", "growing-steps", "host-input-limit", "missing-prefetch", "python-bound", "serial-map", "no-cache"],
    "words": ["batch_at", "Skip", "skip", "FiniteSkip", "FiniteTake"],
    "part": "develop",
}

FEATURES, BATCH, START = 40, 256, 2


def write_records(path):
    rng = np.random.default_rng(0)
    with tf.io.TFRecordWriter(path) as out:
        for _ in range(BATCH * 24):
            values = tf.train.FloatList(value=rng.standard_normal(FEATURES + 1).astype("float32"))
            feature = {"row": tf.train.Feature(float_list=values)}
            out.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def parse(records):
    rows = tf.io.parse_example(records, {"row": tf.io.FixedLenFeature([FEATURES + 1], tf.float32)})["row"]
    return rows[:, :-1], rows[:, -1:]


def flats(path):
    return tf.data.TFRecordDataset(path).batch(BATCH).map(parse)


def batch_at(ds, step):
    for batch in ds.skip(step).take(1):  # planted
        return batch


class Trainer:
    def __init__(self, rate=1e-3):
        layers = tf.keras.layers
        self.net = tf.keras.Sequential([tf.keras.Input((FEATURES,)), layers.Dense(768, "relu"), layers.Dense(768, "relu"), layers.Dense(1)])
        self.optimizer = tf.keras.optimizers.SGD(rate)

    @tf.function
    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.net(x) - y))
        variables = self.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


def main(clock):
    clock.plan(3, 4)
    path = os.path.join(clock.folder, "flats.tfrecord")
    if not os.path.exists(path):
        write_records(path)
    trainer, ds = Trainer(), flats(path)
    resumed = iter(ds.skip(START)) if clock.fixed else None
    for step in clock.loop():
        with clock.mark(step):
            x, y = next(resumed) if clock.fixed else batch_at(ds, START + step)  # planted
            trainer.train_step(x, y)


if __name__ == "__main__":
    run(main)
