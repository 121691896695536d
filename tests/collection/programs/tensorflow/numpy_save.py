import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the activations are compressed and written with numpy in every step",
    "cause": "files written in the loop",
    "accept": [],
    "rules": [],
    "words": ["savez", "keep_activations", "zipfile", "npyio"],
    "part": "develop",
}


def keep_activations(folder, step, hidden):
    np.savez_compressed(str(Path(folder) / f"step{step % 4}.npz"), hidden=hidden.numpy())  # planted


def main(clock):
    clock.plan(3, 8)
    x = tf.random.normal([128, 300])
    w1 = tf.Variable(tf.random.normal([300, 512]) * 0.05)
    w2 = tf.Variable(tf.random.normal([512, 300]) * 0.05)

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            hidden = tf.nn.gelu(tf.matmul(x, w1))
            loss = tf.reduce_mean(tf.square(tf.matmul(hidden, w2) - x))
        g1, g2 = tape.gradient(loss, (w1, w2))
        w1.assign_sub(0.1 * g1)
        w2.assign_sub(0.1 * g2)
        return loss, hidden

    for step in clock.loop():
        with clock.mark(step):
            loss, hidden = train_step(x)
            if not clock.fixed:
                keep_activations(clock.folder, step, hidden)


if __name__ == "__main__":
    run(main)
