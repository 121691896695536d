"""A network that solves Burgers' equation: its residual needs the second derivative along x."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the second derivative is taken out of the Jacobian of all points by all points",
    "cause": "quadratic work",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["pfor"],
    "part": "develop",
}

NU, POINTS = 0.01 / np.pi, 256


def main(clock):
    clock.plan(3, 5)
    net = tf.keras.Sequential(
        [tf.keras.layers.Input((2,))]
        + [tf.keras.layers.Dense(24, activation="tanh") for _ in range(2)]
        + [tf.keras.layers.Dense(1)]
    )
    optimizer = tf.keras.optimizers.SGD(1e-3)

    def second_derivative(xt):
        with tf.GradientTape() as outer:
            outer.watch(xt)
            with tf.GradientTape() as inner:
                inner.watch(xt)
                u = net(xt)
            du = inner.gradient(u, xt)
            u_x = du[:, 0]
        if clock.fixed:
            return u, du, outer.gradient(u_x, xt)[:, 0:1]
        jacobian = outer.jacobian(u_x, xt)  # planted
        return u, du, tf.linalg.diag_part(jacobian[:, :, 0])[:, None]  # planted

    @tf.function
    def train_step(xt, xt0, u0):
        with tf.GradientTape() as tape:
            u, du, u_xx = second_derivative(xt)
            residual = du[:, 1:2] + u * du[:, 0:1] - NU * u_xx
            loss = tf.reduce_mean(residual**2) + tf.reduce_mean((net(xt0) - u0) ** 2)
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables))
        return loss

    x0 = np.random.default_rng(0).uniform(-1, 1, (50, 1)).astype("float32")
    xt0 = tf.constant(np.concatenate([x0, np.zeros_like(x0)], 1))
    u0 = tf.constant(-np.sin(np.pi * x0))
    for step in clock.loop():
        with clock.mark(step, "step"):
            xt = tf.random.uniform((POINTS, 2), minval=[-1.0, 0.0], maxval=[1.0, 1.0])
            loss = train_step(xt, xt0, u0)
    print(float(loss))


if __name__ == "__main__":
    run(main)
