import json
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "all class probabilities of a request are written as JSON, number by number, where five would do",
    "cause": "serialising in Python after inference",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["response", "json", "dumps", "tolist", "encode"],
    "part": "develop",
}


class Server:
    def __init__(self, model, names, top):
        self.model = tf.function(model)
        self.names = names
        self.top = top

    def response(self, scores):
        rows = [
            {name: round(score, 6) for name, score in zip(self.names, row)}  # planted
            for row in scores.numpy().tolist()  # planted
        ]
        return json.dumps({"predictions": rows})  # planted

    def short_response(self, scores):
        best = tf.math.top_k(scores, self.top)
        rows = [
            {self.names[i]: score for i, score in zip(index, values)}
            for index, values in zip(best.indices.numpy().tolist(), best.values.numpy().tolist())
        ]
        return json.dumps({"predictions": rows})

    def handle(self, images):
        scores = tf.nn.softmax(self.model(images))
        return self.short_response(scores) if self.top else self.response(scores)


def main(clock):
    clock.plan(3, 6)
    tf.random.set_seed(0)
    layers = tf.keras.layers
    net = tf.keras.Sequential(
        [
            layers.Conv2D(32, 3, 2, activation="relu"),
            layers.Conv2D(64, 3, 2, activation="relu"),
            layers.Conv2D(64, 3, 2, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(300),
        ]
    )
    server = Server(lambda x: net(x, training=False), [f"class_{i:04d}" for i in range(300)], 5 if clock.fixed else None)
    images = tf.random.uniform([32, 128, 128, 3])
    sent = 0
    for step in clock.loop():
        with clock.mark(step, "request"):
            sent += len(server.handle(images))


if __name__ == "__main__":
    run(main)
