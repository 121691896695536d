"""Behaviour of mice from key points: a hidden Markov model by gradient."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the forward algorithm takes the log-sum-exp over all pairs of states as a cube, where scaled probabilities are one matrix product a time",
    "cause": "a huge intermediate",
    "accept": ["largest-part", "graph-loop", "dominant-op", "unfused-ops"],
    "rules": ["graph-loop", "dominant-op", "unfused-ops"],
    "words": ["forward_log", "reduce_logsumexp", "LogSumExp", "IsFinite"],
    "part": "develop",
}

STATES, POINTS, TIMES, BATCH = 64, 16, 16, 24


class HMM(tf.Module):
    def __init__(self):
        super().__init__()
        self.start = tf.Variable(tf.zeros([STATES]))
        self.move = tf.Variable(tf.random.normal([STATES, STATES]))
        self.means = tf.Variable(tf.random.normal([STATES, POINTS]))
        self.log_scale = tf.Variable(tf.zeros([POINTS]))

    def emissions(self, x):
        scaled, means = x * tf.exp(-self.log_scale), self.means * tf.exp(-self.log_scale)
        squared = tf.reduce_sum(scaled**2, -1, keepdims=True) - 2 * tf.einsum("btd,sd->bts", scaled, means)
        return -0.5 * (squared + tf.reduce_sum(means**2, -1)) - tf.reduce_sum(self.log_scale)


def forward_log(log_start, log_move, emissions):
    alpha = log_start + emissions[:, 0]
    for t in range(1, TIMES):
        alpha = tf.reduce_logsumexp(alpha[:, :, None] + log_move, axis=1) + emissions[:, t]  # planted
    return tf.reduce_logsumexp(alpha, -1)


def forward_scaled(log_start, log_move, emissions):
    highest = tf.stop_gradient(tf.reduce_max(emissions, -1, keepdims=True))
    likelihood, move = tf.exp(emissions - highest), tf.exp(log_move)
    alpha = tf.exp(log_start) * likelihood[:, 0]
    total = tf.reduce_sum(highest, [1, 2])
    for t in range(1, TIMES):
        scale = tf.reduce_sum(alpha, -1, keepdims=True)
        total += tf.math.log(scale[:, 0])
        alpha = tf.matmul(alpha / scale, move) * likelihood[:, t]
    return total + tf.math.log(tf.reduce_sum(alpha, -1))


def main(clock):
    clock.plan(3, 3)
    tf.random.set_seed(0)
    model = HMM()
    optimizer = tf.keras.optimizers.SGD(1e-2)
    tracks = tf.random.normal([8, BATCH, TIMES, POINTS])
    forward = forward_scaled if clock.fixed else forward_log

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            evidence = forward(tf.nn.log_softmax(model.start), tf.nn.log_softmax(model.move), model.emissions(x))
            loss = -tf.reduce_mean(evidence) / TIMES
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            train_step(tracks[step % 8])


if __name__ == "__main__":
    run(main)
