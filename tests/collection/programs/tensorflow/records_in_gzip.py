"""Galaxies from the sky: pictures in TFRecords, a small net."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "records were written with GZIP at its best, and random floats of telescopes do not shrink: each batch is inflated for nothing",
    "cause": "input pipeline",
    "accept": ["largest-part", "input-bound", "host-input-limit", "missing-prefetch", "no-cache", "file-reads", "serial-map", "no-interleave"],
    "rules": ["input-bound", "host-input-limit", "missing-prefetch", "no-cache", "file-reads", "serial-map", "no-interleave"],
    "words": ["TFRecord", "TFRecordDataset", "compression_type", "GZIP", "records_of"],
    "part": "develop",
}

SIDE, BANDS, GALAXIES, BATCH = 144, 5, 32, 8


def write_records(path, compression):
    rng = np.random.default_rng(0)
    options = tf.io.TFRecordOptions(compression_type=compression, compression_level=9)
    with tf.io.TFRecordWriter(path, options) as writer:
        for _ in range(GALAXIES):
            sky = rng.gamma(2.0, 1.0, (SIDE, SIDE, BANDS)).astype("float32")
            features = {
                "sky": tf.train.Feature(bytes_list=tf.train.BytesList(value=[sky.tobytes()])),
                "redshift": tf.train.Feature(float_list=tf.train.FloatList(value=[rng.random()])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def parse(records):
    features = {"sky": tf.io.FixedLenFeature((), tf.string), "redshift": tf.io.FixedLenFeature((), tf.float32)}
    example = tf.io.parse_example(records, features)
    return tf.reshape(tf.io.decode_raw(example["sky"], tf.float32), [-1, SIDE, SIDE, BANDS]), example["redshift"]


def records_of(path, compression):
    records = tf.data.TFRecordDataset(path, compression_type=compression)  # planted
    return records.repeat().batch(BATCH).map(parse)


def main(clock):
    clock.plan(3, 5)
    compression = "" if clock.fixed else "GZIP"
    path = str(Path(clock.folder) / f"galaxies{compression}.tfrecord")
    write_records(path, compression)
    conv = tf.keras.layers.Conv2D
    model = tf.keras.Sequential([conv(16, 5, 8, activation="relu"), conv(32, 3, 2, activation="relu"), conv(48, 3, activation="relu"), tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(1e-3)

    @tf.function
    def train_step(sky, redshift):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(0.1 * sky)[:, 0] - redshift) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    data = iter(records_of(path, compression))
    for step in clock.loop():
        with clock.mark(step):
            train_step(*next(data))


if __name__ == "__main__":
    run(main)
