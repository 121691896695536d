"""Fits an implicit surface to points: a signed distance net, curriculum over its loss."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the penalty of the curriculum is handed to the compiled step as a lambda that is created at each call, so each step is traced again",
    "cause": "traced each step",
    "accept": ["largest-part", "retracing", "recompilation", "python-bound"],
    "rules": ["retracing", "recompilation", "python-bound"],
    "words": ["penalty_at", "train_step", "trace_function", "_initialize", "maybe_define_function", "_maybe_define_function", "Tracing", "FuncGraph"],
    "part": "score",
}

POINTS, WIDTH = 1024, 128


def sphere(n):
    return tf.math.l2_normalize(tf.random.normal([n, 3]), -1) * 0.7


class DistanceNet(tf.Module):
    def __init__(self, depth=4):
        super().__init__()
        sizes = [3] + [WIDTH] * depth + [1]
        self.kernels = [tf.Variable(tf.random.normal([a, b]) * (2 / a) ** 0.5) for a, b in zip(sizes, sizes[1:])]

    def __call__(self, x):
        for kernel in self.kernels[:-1]:
            x = tf.math.softplus(8 * (x @ kernel)) / 8
        return (x @ self.kernels[-1])[:, 0]


net = None
weights_of_phase = ((0.0, 1.0), (0.1, 1.0), (0.1, 0.5))


def penalty_at(step):
    eikonal, far = weights_of_phase[min(step // 50, 2)]
    return lambda slope, d: eikonal * tf.reduce_mean((slope - 1) ** 2) + far * tf.reduce_mean(tf.exp(-50 * tf.abs(d)))  # planted


@tf.function
def train_step(surface, space, penalty):
    with tf.GradientTape() as tape:
        with tf.GradientTape() as inner:
            inner.watch(space)
            d = net(space)
        slope = tf.norm(inner.gradient(d, space) + 1e-9, axis=-1)
        loss = tf.reduce_mean(tf.abs(net(surface))) + penalty(slope, d)
    for w, g in zip(net.trainable_variables, tape.gradient(loss, net.trainable_variables)):
        w.assign_sub(1e-4 * g)
    return loss


def main(clock):
    global net
    clock.plan(2, 3)
    tf.random.set_seed(0)
    net = DistanceNet()
    one_penalty = penalty_at(0)
    for step in clock.loop():
        with clock.mark(step):
            space = tf.random.uniform([POINTS, 3], -1, 1)
            penalty = one_penalty if clock.fixed else penalty_at(step)
            loss = train_step(sphere(POINTS), space, penalty)  # planted
            float(loss)


if __name__ == "__main__":
    run(main)
