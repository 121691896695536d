import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the layout is turned there and back around every convolution",
    "cause": "transposes",
    "accept": ["layout-transposes", "no-xla"],
    "rules": ["layout-transposes"],
    "words": ["Transpose", "transpose"],
    "family": "Transpose",
    "part": "develop",
}


def channels_first(x):
    return tf.transpose(x, [0, 3, 1, 2])  # planted


def channels_last(x):
    return tf.transpose(x, [0, 2, 3, 1])  # planted


def main(clock):
    clock.plan(3, 6)
    x = tf.random.normal([16, 64, 64, 8])
    kernels = [tf.Variable(tf.random.normal([1, 1, 8, 8]) * 0.2) for _ in range(4)]

    @tf.function
    def forward(x):
        for kernel in kernels:
            if not clock.fixed:
                x = channels_first(x)
                x = tf.reverse(x, [0])
                x = channels_last(x)
                x = tf.transpose(x, [3, 1, 2, 0])  # planted
                x = tf.abs(x)
                x = tf.transpose(x, [3, 1, 2, 0])  # planted
            x = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME"))
        return tf.reduce_mean(x)

    for step in clock.loop():
        with clock.mark(step, "predict"):
            forward(x)


if __name__ == "__main__":
    run(main)
