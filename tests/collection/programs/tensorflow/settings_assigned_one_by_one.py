"""Population-based training: forty small nets at once, each with settings of its own."""
import math
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "learning rate, momentum and noise of each of 40 nets are variables of their own, assigned one by one before each step, where three vectors would be given to it",
    "cause": "many tiny ops",
    "accept": ["largest-part", "eager-execution", "python-bound", "launch-bound", "tiny-kernels", "slow-launches", "unfused-ops"],
    "rules": ["eager-execution", "python-bound", "launch-bound", "tiny-kernels", "slow-launches", "unfused-ops"],
    "words": ["assign_settings"],
    "part": "develop",
}

NETS, INPUTS, WIDTH, BATCH = 40, 16, 48, 32


class Population(tf.Module):
    def __init__(self, as_vectors):
        super().__init__()
        normal = lambda *shape: tf.Variable(tf.random.normal([NETS, *shape], stddev=shape[0] ** -0.5))
        self.weights = [normal(INPUTS, WIDTH), normal(WIDTH, WIDTH), normal(WIDTH, 1)]
        self.moments = [tf.Variable(tf.zeros_like(w)) for w in self.weights]
        self.settings = None if as_vectors else [[tf.Variable(0.0) for _ in range(NETS)] for _ in range(3)]

    def schedule(self, step):
        fall = 0.5 * (1 + math.cos(math.pi * min(step / 1000, 1)))
        return [[fall * 0.1 / (i + 1) for i in range(NETS)], [0.9 - 0.01 * i for i in range(NETS)], [0.01 * fall * i for i in range(NETS)]]

    def assign_settings(self, step):
        for variables, values in zip(self.settings, self.schedule(step)):
            for variable, value in zip(variables, values):
                variable.assign(value)  # planted

    @tf.function
    def train(self, x, y, settings):
        rates, momenta, noise = tf.unstack(settings if self.settings is None else tf.stack([tf.stack(one) for one in self.settings]))
        with tf.GradientTape() as tape:
            h = x[None] + noise[:, None, None] * tf.random.normal([NETS, *x.shape])
            for w in self.weights[:-1]:
                h = tf.nn.relu(h @ w)
            loss = tf.reduce_sum(tf.reduce_mean((h @ self.weights[-1] - y) ** 2, [1, 2]))
        for w, m, g in zip(self.weights, self.moments, tape.gradient(loss, self.weights)):
            m.assign(momenta[:, None, None] * m + g)
            w.assign_sub(1e-2 * rates[:, None, None] * m)
        return loss


def main(clock):
    clock.plan(4, 3)
    tf.random.set_seed(0)
    population = Population(as_vectors=clock.fixed)
    x = tf.random.normal([8, BATCH, INPUTS])
    y = tf.reduce_sum(x[..., :3], -1, keepdims=True)
    for step in clock.loop():
        with clock.mark(step):
            settings = None
            if clock.fixed:
                settings = tf.constant(population.schedule(step))
            else:
                population.assign_settings(step)  # planted
            population.train(x[step % 8], y[step % 8], settings)


if __name__ == "__main__":
    run(main)
