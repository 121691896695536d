"""Click-through rates (Criteo-like) from TFRecords: wide and deep."""
import os
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "records are parsed one by one before the batch is made, where parse_example takes a whole batch",
    "cause": "input, call by call",
    "accept": ["largest-part", "input-bound", "batch-after-map", "host-input-limit", "no-cache", "missing-prefetch"],
    "rules": ["input-bound", "batch-after-map", "host-input-limit", "no-cache", "missing-prefetch"],
    "words": ["ParseExample", "ParseSingleExample", "parse_one", "ParallelMap"],
    "part": "develop",
}

FLAGS = {"batch": 96, "cats": 20, "nums": 10, "buckets": 2000, "dim": 8, "rows": 4096}
SPEC = {f"c{i}": tf.io.FixedLenFeature([], tf.int64) for i in range(FLAGS["cats"])}
SPEC |= {"numbers": tf.io.FixedLenFeature([FLAGS["nums"]], tf.float32), "click": tf.io.FixedLenFeature([], tf.float32)}


def write_records(path):
    rng = np.random.default_rng(1)
    ints = lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=v))
    floats = lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=v))
    with tf.io.TFRecordWriter(path) as out:
        for _ in range(FLAGS["rows"]):
            feature = {f"c{i}": ints([int(v)]) for i, v in enumerate(rng.integers(0, FLAGS["buckets"], FLAGS["cats"]))}
            feature["numbers"] = floats(rng.normal(size=FLAGS["nums"]).tolist())
            feature["click"] = floats([float(rng.random() < 0.2)])
            out.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def unpack(parsed):
    ids = tf.stack([parsed[f"c{i}"] for i in range(FLAGS["cats"])], -1)
    return ids, parsed["numbers"], parsed["click"]


def parse_one(record):
    return unpack(tf.io.parse_single_example(record, SPEC))  # planted


def parse_batch(records):
    return unpack(tf.io.parse_example(records, SPEC))


def input_fn(path, by_batch):
    ds = tf.data.TFRecordDataset(path).shuffle(2048).repeat()
    if by_batch:
        ds = ds.batch(FLAGS["batch"]).map(parse_batch, num_parallel_calls=tf.data.AUTOTUNE)
    else:
        ds = ds.map(parse_one, num_parallel_calls=tf.data.AUTOTUNE).batch(FLAGS["batch"])  # planted
    return ds.prefetch(tf.data.AUTOTUNE)


class WideAndDeep(tf.Module):
    def __init__(self):
        super().__init__()
        size = FLAGS["cats"] * FLAGS["buckets"]
        self.wide = tf.Variable(tf.zeros([size]))
        self.table = tf.Variable(tf.random.normal([size, FLAGS["dim"]], stddev=0.05))
        sizes = [FLAGS["cats"] * FLAGS["dim"] + FLAGS["nums"], 192, 96, 1]
        self.dense = [(tf.Variable(tf.random.normal([a, b], stddev=a**-0.5)), tf.Variable(tf.zeros([b]))) for a, b in zip(sizes, sizes[1:])]
        self.offsets = tf.range(FLAGS["cats"], dtype=tf.int64) * FLAGS["buckets"]

    def __call__(self, ids, numbers):
        ids = ids + self.offsets
        x = tf.concat([tf.reshape(tf.gather(self.table, ids), [-1, FLAGS["cats"] * FLAGS["dim"]]), numbers], 1)
        for w, b in self.dense[:-1]:
            x = tf.nn.relu(x @ w + b)
        w, b = self.dense[-1]
        return (x @ w + b)[:, 0] + tf.reduce_sum(tf.gather(self.wide, ids), 1)


def main(clock):
    clock.plan(4, 3)
    path = os.path.join(clock.folder, "clicks.tfrecord")
    if not os.path.exists(path):
        write_records(path)
    model = WideAndDeep()
    variables = model.trainable_variables

    @tf.function
    def step_fn(ids, numbers, clicks):
        with tf.GradientTape() as tape:
            logits = model(ids, numbers)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(clicks, logits))
        for v, g in zip(variables, tape.gradient(loss, variables)):
            if isinstance(g, tf.IndexedSlices):
                v.scatter_sub(tf.IndexedSlices(0.05 * g.values, g.indices))
            else:
                v.assign_sub(0.05 * g)
        return loss

    batches = iter(input_fn(path, by_batch=clock.fixed))
    for step in clock.loop():
        with clock.mark(step):
            step_fn(*next(batches))


if __name__ == "__main__":
    run(main)
