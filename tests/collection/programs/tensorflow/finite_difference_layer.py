"""Which diffusion made this heat map? An encoder in front of a simulator, trained end to end."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the simulator's gradient is a finite difference: it runs again for each of its six parameters",
    "cause": "gradients by repeated forward passes",
    "accept": ["largest-part"],
    "rules": ["largest-part"],
    "words": ["slopes", "nudged", "finite_differences"],
    "part": "develop",
}

SIDE, SUBSTEPS, PARAMETERS = 112, 3, 6


def laplacian(u):
    around = tf.roll(u, 1, 1) + tf.roll(u, -1, 1) + tf.roll(u, 1, 2) + tf.roll(u, -1, 2)
    return around - 4.0 * u


class Simulator:
    """Two species that diffuse, react and decay; theta is [batch, 6] in (0, 1)."""

    def __init__(self, dt=0.1):
        self.dt = dt
        rng = np.random.default_rng(0)
        self.u0 = tf.constant(rng.random((1, SIDE, SIDE)), tf.float32)
        self.v0 = tf.constant(rng.random((1, SIDE, SIDE)), tf.float32)

    def run(self, theta):
        du, dv, feed, kill, gain, loss = [one[:, :, None] for one in tf.split(theta, PARAMETERS, 1)]
        u, v = self.u0 * tf.ones_like(du), self.v0 * tf.ones_like(dv)
        for _ in range(SUBSTEPS):
            reaction = u * v * v
            u = u + self.dt * (du * laplacian(u) - gain * reaction + feed * (1.0 - u))
            v = v + self.dt * (dv * laplacian(v) + gain * reaction - (feed + kill) * v - loss * v)
        return tf.stack([u, v], -1)

    def finite_differences(self, theta, eps=1e-3):
        @tf.custom_gradient
        def simulate(theta):
            def slopes(upstream):
                columns = []
                for i in range(PARAMETERS):
                    nudge = eps * tf.one_hot(i, PARAMETERS)
                    nudged = self.run(theta + nudge) - self.run(theta - nudge)  # planted
                    columns.append(tf.reduce_sum(upstream * nudged / (2 * eps), (1, 2, 3)))  # planted
                return tf.stack(columns, 1)

            return self.run(theta), slopes

        return simulate(theta)


class Trainer:
    def __init__(self, simulator, forward):
        layers = tf.keras.layers
        self.simulator, self.forward = simulator, forward
        self.encoder = tf.keras.Sequential(
            [
                tf.keras.Input((SIDE, SIDE, 2)),
                layers.Conv2D(32, 5, 2, padding="same", activation="relu"),
                layers.Conv2D(64, 3, 2, padding="same", activation="relu"),
                layers.Conv2D(96, 3, 2, padding="same", activation="relu"),
                layers.GlobalAveragePooling2D(),
                layers.Dense(64, activation="relu"),
                layers.Dense(PARAMETERS, activation="sigmoid"),
            ]
        )
        schedule = tf.keras.optimizers.schedules.CosineDecay(1e-3, 10_000)
        self.optimizer = tf.keras.optimizers.Adam(schedule)

    @tf.function
    def step(self, maps):
        with tf.GradientTape() as tape:
            theta = self.encoder(maps, training=True)
            loss = tf.reduce_mean((self.forward(theta) - maps) ** 2)
        variables = self.encoder.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


def main(clock):
    clock.plan(3, 3)
    simulator = Simulator()
    truth = tf.random.uniform((32, PARAMETERS), seed=1)
    maps = simulator.run(truth)
    trainer = Trainer(simulator, simulator.run if clock.fixed else simulator.finite_differences)
    losses = []
    for step in clock.loop():
        with clock.mark(step):
            losses.append(float(trainer.step(maps)))


if __name__ == "__main__":
    run(main)
