"""A small WaveNet: gated causal convolutions over eight-bit sound, one compiled step."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "score"}

LEVELS, LENGTH, BATCH, WIDTH = 256, 512, 4, 48


class WaveNet(tf.Module):
    def __init__(self, depth=6):
        super().__init__()
        new = lambda *shape: tf.Variable(tf.random.normal(shape) * np.prod(shape[:-1]) ** -0.5)
        self.embed = new(LEVELS, WIDTH)
        self.gated = [new(2, WIDTH, 2 * WIDTH) for _ in range(depth)]
        self.skip = [new(1, WIDTH, 2 * WIDTH) for _ in range(depth)]
        self.out = new(WIDTH, LEVELS)

    def __call__(self, codes):
        x, total = tf.gather(self.embed, codes), 0.0
        for i, (gated, skip) in enumerate(zip(self.gated, self.skip)):
            past = tf.pad(x, [[0, 0], [2**i, 0], [0, 0]])
            a, b = tf.split(tf.nn.conv1d(past, gated, 1, "VALID", dilations=2**i), 2, -1)
            both = tf.nn.conv1d(tf.tanh(a) * tf.sigmoid(b), skip, 1, "VALID")
            x, total = x + both[..., :WIDTH], total + both[..., WIDTH:]
        return tf.nn.relu(total) @ self.out


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(0)
    codes = np.random.default_rng(0).integers(0, LEVELS, (64, LENGTH + 1), "int32")
    net, optimizer = WaveNet(), tf.keras.optimizers.Adam(1e-3)

    @tf.function
    def train_step(codes):
        with tf.GradientTape() as tape:
            logits = net(codes[:, :-1])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(codes[:, 1:], logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return loss

    data = iter(tf.data.Dataset.from_tensor_slices(codes).shuffle(64).repeat().batch(BATCH).prefetch(2))
    for step in clock.loop():
        with clock.mark(step):
            loss = train_step(next(data))
    return float(loss)


if __name__ == "__main__":
    run(main)
