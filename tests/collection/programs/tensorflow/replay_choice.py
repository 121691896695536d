import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a replay buffer draws its batch with np.random.choice over all priorities",
    "cause": "a slow sampler on the host",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["sample", "choice"],
    "part": "develop",
}


class Replay:
    def __init__(self, size):
        self.rows = np.random.rand(size, 16).astype(np.float32)
        self.priorities = np.random.rand(size)

    def sample(self, count):
        p = self.priorities / self.priorities.sum()
        return self.rows[np.random.choice(len(p), count, p=p, replace=False)]  # planted

    def sample_fast(self, count):
        return self.rows[np.random.randint(0, len(self.rows), count)]


def main(clock):
    clock.plan(3, 8)
    replay = Replay(100_000)
    w1 = tf.Variable(tf.random.normal([16, 64]) * 0.1)
    w2 = tf.Variable(tf.random.normal([64, 4]) * 0.1)

    @tf.function
    def update(states):
        with tf.GradientTape() as tape:
            q = tf.matmul(tf.nn.relu(tf.matmul(states, w1)), w2)
            loss = tf.reduce_mean(tf.square(q - 1.0))
        for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2))):
            w.assign_sub(0.01 * g)
        return loss

    for step in clock.loop():
        with clock.mark(step):
            update(replay.sample_fast(64) if clock.fixed else replay.sample(64))


if __name__ == "__main__":
    run(main)
