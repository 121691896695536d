"""FT-Transformer for tables (Gorishniy et al. 2021), one file."""
import argparse
import logging
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "tf.debugging.enable_check_numerics, from a hunt for a NaN, is still on: every result is searched",
    "cause": "a debugger left on",
    "accept": ["largest-part", "debug-mode", "dominant-op", "tiny-ops"],
    "rules": ["debug-mode", "dominant-op"],
    "words": ["CheckNumerics", "CheckNumericsV2", "enable_check_numerics"],
    "part": "develop",
}
logger = logging.getLogger(__name__)


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=192)
    parser.add_argument("--features", type=int, default=24)
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-4)
    return parser.parse_args([])


def setup(debug):
    tf.random.set_seed(17)
    if debug:
        tf.debugging.enable_check_numerics()  # planted
    else:
        tf.debugging.disable_check_numerics()


class Linear(tf.Module):
    def __init__(self, a, b):
        super().__init__()
        self.w = tf.Variable(tf.random.normal([a, b], stddev=a**-0.5))
        self.b = tf.Variable(tf.zeros([b]))

    def __call__(self, x):
        return tf.tensordot(x, self.w, 1) + self.b


def norm(x):
    centred = x - tf.reduce_mean(x, -1, keepdims=True)
    return centred * tf.math.rsqrt(tf.reduce_mean(centred * centred, -1, keepdims=True) + 1e-5)


class Block(tf.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = Linear(dim, 3 * dim), Linear(dim, dim)
        self.up, self.down = Linear(dim, 4 * dim), Linear(2 * dim, dim)

    def __call__(self, x):
        b, t, d = x.shape
        q, k, v = tf.unstack(tf.reshape(self.qkv(norm(x)), [b, t, 3, self.heads, d // self.heads]), axis=2)
        score = tf.nn.softmax(tf.einsum("bihd,bjhd->bhij", q, k) * (d // self.heads) ** -0.5)
        x = x + self.out(tf.reshape(tf.einsum("bhij,bjhd->bihd", score, v), [b, t, d]))
        gate, value = tf.split(self.up(norm(x)), 2, -1)
        return x + self.down(tf.nn.gelu(gate) * value)


class FTTransformer(tf.Module):
    def __init__(self, args):
        super().__init__()
        self.w = tf.Variable(tf.random.normal([args.features, args.dim]))
        self.cls = tf.Variable(tf.random.normal([1, 1, args.dim]))
        self.blocks = [Block(args.dim, args.heads) for _ in range(args.depth)]
        self.head = Linear(args.dim, 1)

    def __call__(self, x):
        tokens = tf.concat([tf.tile(self.cls, [x.shape[0], 1, 1]), x[..., None] * self.w], 1)
        for block in self.blocks:
            tokens = block(tokens)
        return self.head(tf.nn.relu(norm(tokens[:, 0])))[:, 0]


def main(clock):
    clock.plan(4, 3)
    args = get_args()
    setup(debug=not clock.fixed)
    model = FTTransformer(args)
    variables = model.trainable_variables

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        for v, g in zip(variables, tape.gradient(loss, variables)):
            v.assign_sub(args.lr * g)
        return loss

    rng = np.random.default_rng(0)
    x = rng.standard_normal((4096, args.features)).astype("float32")
    ds = tf.data.Dataset.from_tensor_slices((x, x[:, 0] * x[:, 1])).repeat().batch(args.batch_size, drop_remainder=True)
    it = iter(ds.prefetch(4))
    for step in clock.loop():
        with clock.mark(step):
            loss = train_step(*next(it))
    logger.info("loss %.4f", float(loss))


if __name__ == "__main__":
    run(main)
