import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


class Block(tf.Module):
    def __init__(self, depth):
        super().__init__()
        self.qkv = tf.Variable(tf.random.normal([depth, 3 * depth]) * 0.05)
        self.out = tf.Variable(tf.random.normal([depth, depth]) * 0.05)
        self.up = tf.Variable(tf.random.normal([depth, 4 * depth]) * 0.05)
        self.down = tf.Variable(tf.random.normal([4 * depth, depth]) * 0.05)

    def __call__(self, x):
        q, k, v = tf.split(tf.einsum("btd,de->bte", x, self.qkv), 3, axis=-1)
        scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 12.0)
        x = x + tf.einsum("btd,de->bte", tf.matmul(scores, v), self.out)
        return x + tf.einsum("bte,ed->btd", tf.nn.relu(tf.einsum("btd,de->bte", x, self.up)), self.down)


def main(clock):
    clock.plan(3, 6)
    blocks = [Block(128), Block(128)]
    weights = [w for block in blocks for w in block.trainable_variables]
    x = tf.random.normal([8, 96, 128])

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            h = x
            for block in blocks:
                h = block(h)
            loss = tf.reduce_mean(tf.square(h - x))
        for w, g in zip(weights, tape.gradient(loss, weights)):
            w.assign_sub(0.01 * g)
        return loss

    for step in clock.loop():
        with clock.mark(step):
            train_step(x)


if __name__ == "__main__":
    run(main)
