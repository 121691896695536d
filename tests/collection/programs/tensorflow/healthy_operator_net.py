"""DeepONet: a branch reads the source, a trunk the places, their product is the field."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

SOURCES, SENSORS, PLACES, WIDTH = 256, 100, 4000, 256


def dense_stack(widths):
    return [tf.Variable(tf.random.normal(s) * s[0] ** -0.5) for s in zip(widths, widths[1:])]


def forward(kernels, x):
    for kernel in kernels[:-1]:
        x = tf.nn.silu(x @ kernel)
    return x @ kernels[-1]


def main(clock):
    clock.plan(3, 5)
    tf.random.set_seed(0)
    branch, trunk = dense_stack((SENSORS, WIDTH, WIDTH, 128)), dense_stack((2, WIDTH, WIDTH, 128))
    weights = branch + trunk
    moments = [tf.Variable(tf.zeros_like(w)) for w in weights]
    sources, fields = tf.random.normal([SOURCES, SENSORS]), tf.random.normal([SOURCES, PLACES])
    places = tf.random.uniform([PLACES, 2])

    @tf.function
    def train_step():
        # Some sources at some places each.
        rows = tf.random.uniform([128], 0, SOURCES, tf.int32)
        where = tf.random.uniform([2000], 0, PLACES, tf.int32)
        truth = tf.gather(tf.gather(fields, rows), where, axis=1)
        with tf.GradientTape() as tape:
            found = tf.matmul(forward(branch, tf.gather(sources, rows)), forward(trunk, tf.gather(places, where)), transpose_b=True)
            loss = tf.reduce_mean((found - truth) ** 2)
        for w, m, g in zip(weights, moments, tape.gradient(loss, weights)):
            m.assign(0.9 * m + g)
            w.assign_sub(1e-3 * m)
        return loss

    losses = []
    for step in clock.loop():
        with clock.mark(step):
            losses.append(train_step())
    print(float(tf.add_n(losses)))


if __name__ == "__main__":
    run(main)
