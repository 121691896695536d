import sys
import time
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a rate limiter sleeps in every step",
    "cause": "sleep",
    "accept": [],
    "rules": [],
    "words": ["sleep", "throttle"],
    "part": "develop",
}


class Limiter:
    def __init__(self, per_second):
        self.gap = 1.0 / per_second
        self.last = 0.0

    def throttle(self):
        wait = self.last + self.gap - time.monotonic()
        if wait > 0:
            time.sleep(wait)  # planted
        self.last = time.monotonic()


def main(clock):
    clock.plan(3, 8)
    limiter = Limiter(30)
    x = tf.random.normal([64, 128])
    w = tf.Variable(tf.random.normal([128, 128]) * 0.1)

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - x))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    for step in clock.loop():
        if not clock.fixed:
            limiter.throttle()  # planted
        with clock.mark(step):
            train_step(x)


if __name__ == "__main__":
    run(main)
