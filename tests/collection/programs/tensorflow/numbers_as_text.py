"""Faults of gas turbines from sensor records."""
import os
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "records hold their 1600 sensor values as one text with commas, which the pipeline splits and parses number by number for each batch",
    "cause": "input in a costly form",
    "accept": ["largest-part", "input-bound", "host-input-limit", "no-cache", "few-input-threads", "serial-map", "batch-after-map", "missing-prefetch"],
    "rules": ["input-bound", "host-input-limit", "no-cache", "few-input-threads", "serial-map", "batch-after-map", "missing-prefetch"],
    "words": ["StringToNumber", "StringSplit", "StringSplitV2", "parse_text", "ParallelMap", "Map"],
    "part": "develop",
}

RECORDS, SENSORS, BATCH = 1024, 1600, 128


def write_records(path, as_text):
    values = np.random.default_rng(0).normal(size=(RECORDS, SENSORS)).astype("float32")
    with tf.io.TFRecordWriter(path) as writer:
        for number, row in enumerate(values):
            data = ",".join(f"{v:.6f}" for v in row).encode() if as_text else row.tobytes()
            feature = {
                "sensors": tf.train.Feature(bytes_list=tf.train.BytesList(value=[data])),
                "fault": tf.train.Feature(int64_list=tf.train.Int64List(value=[number % 8])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def parse(batch):
    kinds = {"sensors": tf.io.FixedLenFeature([], tf.string), "fault": tf.io.FixedLenFeature([], tf.int64)}
    return tf.io.parse_example(batch, kinds)


def parse_text(batch):
    found = parse(batch)
    parts = tf.strings.split(found["sensors"], ",").to_tensor()  # planted
    return tf.reshape(tf.strings.to_number(parts), [-1, SENSORS]), found["fault"]  # planted


def parse_bytes(batch):
    found = parse(batch)
    return tf.reshape(tf.io.decode_raw(found["sensors"], tf.float32), [-1, SENSORS]), found["fault"]


def pipeline(path, as_text):
    ds = tf.data.TFRecordDataset(path).repeat().shuffle(256).batch(BATCH, drop_remainder=True)
    return ds.map(parse_text if as_text else parse_bytes, 2).prefetch(2)


def main(clock):
    clock.plan(6, 6)
    path = os.path.join(clock.folder, f"turbines-{clock.fixed}.tfrecord")
    if not os.path.exists(path):
        write_records(path, as_text=not clock.fixed)
    widths = (SENSORS, 512, 64, 8)
    weights = [tf.Variable(tf.random.normal(s) * s[0] ** -0.5) for s in zip(widths, widths[1:])]

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            for w in weights[:-1]:
                x = tf.nn.relu(x @ w)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, x @ weights[-1]))
        for w, g in zip(weights, tape.gradient(loss, weights)):
            w.assign_sub(0.01 * g)
        return loss

    for step, (x, y) in enumerate(pipeline(path, as_text=not clock.fixed)):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(x, y)


if __name__ == "__main__":
    run(main)
