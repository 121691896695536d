"""Denoising with a loss of structural similarity, after Zhao et al. 2015 (L1 + SSIM)."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the loss blurs with a whole two-dimensional Gaussian window, forward and backward, where two one-dimensional ones do",
    "cause": "algorithm",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["DepthwiseConv2dNative", "depthwise_conv2d"],
    "part": "develop",
}

CFG = dict(size=64, batch=8, sigma=0.1, lr=1e-3, alpha=0.84, window=17, window_sigma=3.0, ema=0.995)


class SSIM:
    def __init__(self, window, sigma, separable):
        at = np.arange(window) - window // 2
        one = np.exp(-0.5 * (at / sigma) ** 2)
        one = (one / one.sum()).astype("float32")
        self.row, self.column = one[None, :, None, None], one[:, None, None, None]
        self.full = np.outer(one, one)[:, :, None, None]
        self.separable = separable

    def blur(self, x):
        c = x.shape[-1]

        def apply(x, kernel):
            return tf.nn.depthwise_conv2d(x, tf.tile(kernel, [1, 1, c, 1]), [1, 1, 1, 1], "VALID")

        if self.separable:
            return apply(apply(x, self.row), self.column)
        return apply(x, self.full)  # planted

    def __call__(self, x, y, c1=0.01**2, c2=0.03**2):
        mx, my = self.blur(x), self.blur(y)
        sxx = self.blur(x * x) - mx**2
        syy = self.blur(y * y) - my**2
        sxy = self.blur(x * y) - mx * my
        value = (2 * mx * my + c1) * (2 * sxy + c2) / ((mx**2 + my**2 + c1) * (sxx + syy + c2))
        return tf.reduce_mean(value)


def build():
    inputs = tf.keras.Input((CFG["size"], CFG["size"], 3))
    x = inputs
    for width in (24, 24, 24):
        x = tf.keras.layers.Conv2D(width, 3, padding="same", activation="relu")(x)
    return tf.keras.Model(inputs, inputs + tf.keras.layers.Conv2D(3, 3, padding="same")(x))


def dataset():
    rng = np.random.default_rng(0)
    clean = rng.random((128, CFG["size"], CFG["size"], 3), "float32")
    noisy = clean + CFG["sigma"] * rng.standard_normal(clean.shape).astype("float32")
    ds = tf.data.Dataset.from_tensor_slices((noisy, clean)).cache().shuffle(128).repeat()
    return ds.batch(CFG["batch"], drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def main(clock):
    clock.plan(4, 8)
    model, ssim = build(), SSIM(CFG["window"], CFG["window_sigma"], separable=clock.fixed)
    optimizer = tf.keras.optimizers.Adam(CFG["lr"])
    optimizer.build(model.trainable_variables)
    seen = tf.Variable(0.0)

    @tf.function
    def train_step(noisy, clean):
        with tf.GradientTape() as tape:
            guess = model(noisy, training=True)
            loss = CFG["alpha"] * (1 - ssim(guess, clean)) + (1 - CFG["alpha"]) * tf.reduce_mean(tf.abs(guess - clean))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        seen.assign(CFG["ema"] * seen + (1 - CFG["ema"]) * loss)
        return loss

    it = iter(dataset())
    for step in clock.loop():
        with clock.mark(step):
            train_step(*next(it))
    print(f"loss {float(seen):.4f}")


if __name__ == "__main__":
    run(main)
