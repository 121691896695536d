"""Signals on a sensor network, forecast by polynomial filters of its weights."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "powers of the network's matrix are made, and then multiplied with the few signals",
    "cause": "products in the dearer order",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["in the other order that takes"],
    "part": "develop",
}
NODES, SIGNALS, HOPS, WIDTH = 420, 20, 3, 32


class HopFilter(tf.Module):
    def __init__(self, ins, outs, is_fixed):
        super().__init__()
        self.is_fixed = is_fixed
        self.taps = [
            tf.Variable(tf.random.normal((ins, outs), stddev=0.1)) for _ in range(HOPS + 1)
        ]

    def hops(self, weights, signals):
        if self.is_fixed:
            found = [signals]
            for _ in range(HOPS):
                found.append(weights @ found[-1])
            return found
        power, found = weights, [signals, weights @ signals]
        for _ in range(HOPS - 1):
            power = power @ weights  # planted
            found.append(power @ signals)
        return found

    def __call__(self, weights, signals):
        reached = self.hops(weights, signals)
        return tf.add_n([hop @ tap for hop, tap in zip(reached, self.taps)])


def main(clock):
    clock.plan(2, 6)
    tf.random.set_seed(3)
    first = HopFilter(SIGNALS, WIDTH, clock.fixed)
    last = HopFilter(WIDTH, 1, clock.fixed)
    optimizer = tf.keras.optimizers.SGD(1e-3)
    weights = tf.nn.softmax(3 * tf.random.normal((4, NODES, NODES)), axis=-1)
    signals = tf.random.normal((4, NODES, SIGNALS))
    ahead = tf.random.normal((4, NODES, 1))

    @tf.function
    def train_step(weights, signals, ahead):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(first(weights, signals))
            loss = tf.reduce_mean((last(weights, hidden) - ahead) ** 2)
        variables = first.trainable_variables + last.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            float(train_step(weights, signals, ahead))


if __name__ == "__main__":
    run(main)
