import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "pictures are rotated and flipped one by one with NumPy in the loop",
    "cause": "augmentation on the host",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["augment", "np.pad", "rot90", "_rot90", "roll"],
    "part": "develop",
}


def augment(pictures, random):
    made = []
    for picture in pictures:
        turned = np.rot90(picture, random.integers(4))  # planted
        if random.random() < 0.5:
            turned = np.fliplr(turned)  # planted
        padded = np.pad(turned, ((4, 4), (4, 4), (0, 0)), mode="reflect")  # planted
        at = random.integers(8)
        made.append(padded[at : at + 32, at : at + 32])
    return np.stack(made)


def main(clock):
    clock.plan(3, 6)
    random = np.random.default_rng(0)
    x = random.normal(size=(128, 32, 32, 3)).astype(np.float32)
    y = random.integers(0, 10, 128)
    w = tf.Variable(tf.random.normal([32 * 32 * 3, 10]) * 0.01)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = tf.matmul(tf.reshape(x, [-1, 32 * 32 * 3]), w)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            )
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            batch = x if clock.fixed else augment(x, random)
            train_step(batch, y)


if __name__ == "__main__":
    run(main)
