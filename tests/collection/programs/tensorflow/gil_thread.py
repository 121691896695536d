import sys
import threading
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a monitor thread in a pure Python loop holds the interpreter's lock",
    "cause": "lock of the interpreter held by another thread",
    "accept": ["gil-contention", "gil"],
    "rules": ["gil-contention", "gil"],
    "words": ["watch_queue", "GIL"],
    "part": "develop", "repeats": 10, "unsteady": True,
}


class Monitor(threading.Thread):
    def __init__(self):
        super().__init__(name="monitor", daemon=True)
        self.is_over = False
        self.seen = 0

    def watch_queue(self):
        while not self.is_over:
            self.seen = (self.seen * 31 + 7) % 1000003  # planted

    def run(self):
        self.watch_queue()


def main(clock):
    clock.plan(3, 8)
    x = tf.random.normal([32, 64])
    w = tf.Variable(tf.random.normal([64, 64]) * 0.1)

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - x))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    monitor = Monitor()
    if not clock.fixed:
        monitor.start()
    for step in clock.loop():
        with clock.mark(step):
            for _ in range(10):
                loss = float(train_step(x))
    monitor.is_over = True


if __name__ == "__main__":
    run(main)
