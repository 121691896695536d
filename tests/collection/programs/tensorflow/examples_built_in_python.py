"""A client of a model that takes tf.Example, as exported for TensorFlow Serving."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each row of a request is made a tf.train.Example in Python, number by number, only to be parsed again by the model",
    "cause": "serialising in Python",
    "accept": ["largest-part", "python-bound", "input-bound"],
    "rules": ["python-bound", "input-bound"],
    "words": ["make_example", "SerializeToString", "tf.train.Example", "ParseExampleV2", "ParseExample", "FloatList"],
    "part": "develop",
}

SENSORS, READINGS, ROWS = 12, 32, 64


def make_example(row):
    feature = {f"s{i}": tf.train.Feature(float_list=tf.train.FloatList(value=[float(v) for v in values])) for i, values in enumerate(row)}  # planted
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()  # planted


class Anomalies(tf.Module):
    """A dense autoencoder; the error of reconstruction is the score."""

    def __init__(self):
        super().__init__()
        sizes = [SENSORS * READINGS, 1536, 64, 1536, SENSORS * READINGS]
        self.layers = [(tf.Variable(tf.random.normal([a, b], stddev=a**-0.5)), tf.Variable(tf.zeros([b]))) for a, b in zip(sizes, sizes[1:])]
        self.spec = {f"s{i}": tf.io.FixedLenFeature([READINGS], tf.float32) for i in range(SENSORS)}

    def reconstruct(self, x):
        for w, b in self.layers[:-1]:
            x = tf.nn.elu(x @ w + b)
        w, b = self.layers[-1]
        return x @ w + b

    @tf.function
    def predict(self, rows):
        x = tf.reshape(rows, [-1, SENSORS * READINGS])
        return tf.reduce_mean(tf.square(self.reconstruct(x) - x), 1)

    @tf.function
    def classify(self, serialized):
        parsed = tf.io.parse_example(serialized, self.spec)
        return self.predict(tf.stack([parsed[f"s{i}"] for i in range(SENSORS)], 1))


class Client:
    def __init__(self, model, as_tensors):
        self.model, self.as_tensors = model, as_tensors

    def classify_rows(self, rows):
        if self.as_tensors:
            return self.model.predict(tf.constant(rows)).numpy()
        return self.model.classify(tf.constant([make_example(row) for row in rows])).numpy()  # planted


def main(clock):
    clock.plan(3, 3)
    client = Client(Anomalies(), as_tensors=clock.fixed)
    readings = np.random.default_rng(0).standard_normal((12, ROWS, SENSORS, READINGS)).astype("float32")
    alarms = []
    for step in clock.loop():
        with clock.mark(step, "request"):
            alarms.append(client.classify_rows(readings[step]) > 1.5)


if __name__ == "__main__":
    run(main)
