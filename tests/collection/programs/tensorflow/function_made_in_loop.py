import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "tf.function is called on a closure within the loop, so each step traces a function of its own",
    "cause": "traced each step",
    "accept": ["retracing"],
    "rules": ["retracing", "python-bound"],
    "words": ["step_for", "tf.function", "make_step"],
    "part": "develop",
}


def make_step(weights, optimizer):
    def step_for(x, y):
        with tf.GradientTape() as tape:
            h = x
            for w in weights[:-1]:
                h = tf.nn.relu(h @ w)
            loss = tf.reduce_mean((h @ weights[-1] - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    return tf.function(step_for)  # planted


def main(clock):
    clock.plan(2, 8)
    weights = [tf.Variable(tf.random.normal(s, stddev=0.1)) for s in ((64, 256), (256, 256), (256, 256), (256, 1))]
    optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.9)
    optimizer.build(weights)
    x, y = tf.random.normal((256, 64)), tf.random.normal((256, 1))
    known = make_step(weights, optimizer)
    for step in clock.loop():
        with clock.mark(step):
            train_step = known if clock.fixed else make_step(weights, optimizer)
            loss = train_step(x, y)
            float(loss)


if __name__ == "__main__":
    run(main)
