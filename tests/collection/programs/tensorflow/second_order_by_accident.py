"""Fast adaptation of a sine (first-order MAML), eagerly, as in many a notebook."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "inner gradients are taken inside of the outer tape, which records them and goes back through them, though the second order is not wanted",
    "cause": "gradients that nobody uses",
    "accept": ["largest-part", "unused-gradients", "repeated-gradients", "eager-execution", "dominant-op", "tiny-kernels", "python-bound", "launch-bound", "unfused-ops"],
    "rules": ["unused-gradients", "repeated-gradients", "eager-execution", "tiny-kernels", "python-bound", "launch-bound", "unfused-ops", "dominant-op"],
    "words": ["adapt"],
    "part": "develop",
}

TASKS, SHOTS, WIDTH, INNER = 1, 400, 128, 3


def init():
    shapes = [(1, WIDTH), (WIDTH,), (WIDTH, WIDTH), (WIDTH,), (WIDTH, 1), (1,)]
    return [tf.Variable(tf.random.normal(shape, stddev=0.1)) for shape in shapes]


def predict(weights, x):
    w1, b1, w2, b2, w3, b3 = weights
    return tf.tanh(tf.tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def task_loss(weights, task):
    return tf.reduce_mean((predict(weights, task[0]) - task[1]) ** 2)


def adapt(weights, task):
    for _ in range(INNER):
        with tf.GradientTape() as inner:
            inner.watch(weights)
            loss = task_loss(weights, task)
        weights = [w - 0.01 * g for w, g in zip(weights, inner.gradient(loss, weights))]  # planted
    return weights


def meta_gradients(weights, task, query):
    """Second order, through the adaptation."""
    with tf.GradientTape() as outer:
        adapted = adapt([w + 0.0 for w in weights], task)  # planted
        loss = task_loss(adapted, query)
    return outer.gradient(loss, weights)


def meta_gradients_of_first_order(weights, task, query):
    adapted = adapt([tf.identity(w) for w in weights], task)
    with tf.GradientTape() as outer:
        outer.watch(adapted)
        loss = task_loss(adapted, query)
    return outer.gradient(loss, adapted)


def make_task():
    x = tf.random.uniform([2, SHOTS, 1], -5, 5)
    y = tf.random.uniform([]) * tf.sin(x + tf.random.uniform([]))
    return (x[0], y[0]), (x[1], y[1])


def main(clock):
    clock.plan(3, 2)
    tf.random.set_seed(0)
    weights = init()
    optimizer = tf.keras.optimizers.SGD(1e-3)
    gradients = meta_gradients_of_first_order if clock.fixed else meta_gradients
    for step in clock.loop():
        with clock.mark(step):
            total = None
            for _ in range(TASKS):
                found = gradients(weights, *make_task())
                total = found if total is None else [a + b for a, b in zip(total, found)]
            optimizer.apply_gradients(zip(total, weights))


if __name__ == "__main__":
    run(main)
