import queue
import sys
import threading
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the loop waits for a queue that one slow thread of the program fills",
    "cause": "a slow producer thread",
    "accept": ["input-bound", "python-bound"],
    "rules": ["input-bound", "python-bound"],
    "words": ["next_batch", "make_batches", "queue", "get"],
    "part": "develop",
}


class Feeder:
    def __init__(self, is_fixed):
        self.queue = queue.Queue(maxsize=2)
        self.is_over = False
        self.rows = np.random.rand(20000, 64).astype(np.float32)
        self.is_fixed = is_fixed
        threading.Thread(target=self.make_batches, name="feeder", daemon=True).start()

    def make_batches(self):
        while not self.is_over:
            rows = self.rows[:256]
            if not self.is_fixed:
                rows = np.sort(self.rows, axis=0)[:256]  # planted
            try:
                self.queue.put(rows, timeout=0.5)
            except queue.Full:
                pass

    def next_batch(self):
        return self.queue.get()  # planted


def main(clock):
    clock.plan(3, 6)
    feeder = Feeder(clock.fixed)
    w = tf.Variable(tf.random.normal([64, 64]) * 0.1)

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - x))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    for step in clock.loop():
        batch = feeder.next_batch()  # planted
        with clock.mark(step):
            train_step(batch)
    feeder.is_over = True


if __name__ == "__main__":
    run(main)
