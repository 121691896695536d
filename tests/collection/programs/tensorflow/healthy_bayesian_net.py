"""Bayes by backprop: weights with means and deviations, compiled by XLA."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

INPUTS, WIDTH, BATCH, ROWS = 32, 512, 512, 8192


class Bayesian(tf.Module):
    def __init__(self):
        super().__init__()
        shapes = [(INPUTS, WIDTH), (WIDTH, WIDTH), (WIDTH, 1)]
        self.means = [tf.Variable(tf.random.normal(shape, stddev=shape[0] ** -0.5)) for shape in shapes]
        self.rhos = [tf.Variable(tf.fill(shape, -4.0)) for shape in shapes]

    def sample(self, x):
        """The local trick: noise for outputs instead of weights."""
        divergence = 0.0
        for i, (mean, rho) in enumerate(zip(self.means, self.rhos)):
            deviation = tf.nn.softplus(rho)
            y = x @ mean
            y += tf.random.normal(tf.shape(y)) * tf.sqrt(tf.square(x) @ tf.square(deviation) + 1e-8)
            divergence += tf.reduce_sum(0.5 * (mean**2 + deviation**2 - 1) - tf.math.log(deviation))
            x = tf.nn.relu(y) if i < 2 else y
        return x, divergence


def main(clock):
    clock.plan(4, 6)
    tf.random.set_seed(0)
    net, optimizer = Bayesian(), tf.keras.optimizers.SGD(1e-4)

    @tf.function(jit_compile=True)
    def loss_and_gradients(x, y):
        with tf.GradientTape() as tape:
            found, divergence = net.sample(x)
            loss = tf.reduce_mean((found - y) ** 2) + divergence / ROWS
        return loss, tape.gradient(loss, net.trainable_variables)

    @tf.function
    def train_step(x, y):
        loss, gradients = loss_and_gradients(x, y)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        return loss

    x = tf.random.normal([ROWS, INPUTS])
    y = tf.reduce_sum(tf.sin(x), -1, keepdims=True)
    data = iter(tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, drop_remainder=True).cache().repeat().prefetch(2))
    for step in clock.loop():
        with clock.mark(step):
            train_step(*next(data))


if __name__ == "__main__":
    run(main)
