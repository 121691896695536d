"""Injective flows: the volume term needs the Jacobian of the decoder."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the Jacobian is taken with experimental_use_pfor=False: a loop in the graph with one backward pass for each of 20 outputs",
    "cause": "loop in the graph",
    "accept": ["largest-part", "graph-loop", "tiny-ops"],
    "rules": ["graph-loop", "tiny-ops"],
    "words": ["batch_jacobian", "While", "volume", "while/body", "StatelessWhile"],
    "part": "develop",
}


class Settings:
    latent, observed, hidden, batch = 8, 20, 96, 48
    weight = 0.1


def dense(a, b):
    return tf.Variable(tf.random.normal([a, b], stddev=a**-0.5))


class InjectiveFlow(tf.Module):
    def __init__(self, use_pfor):
        super().__init__()
        s = Settings
        self.down = [dense(s.observed, s.hidden), dense(s.hidden, s.hidden), dense(s.hidden, s.latent)]
        self.up = [dense(s.latent, s.hidden), dense(s.hidden, s.hidden), dense(s.hidden, s.observed)]
        self.use_pfor = use_pfor

    def encode(self, x):
        return tf.tanh(tf.tanh(x @ self.down[0]) @ self.down[1]) @ self.down[2]

    def decode(self, z):
        return tf.tanh(tf.tanh(z @ self.up[0]) @ self.up[1]) @ self.up[2]

    def volume(self, z):
        with tf.GradientTape() as tape:
            tape.watch(z)
            x = self.decode(z)
        jacobian = tape.batch_jacobian(x, z, experimental_use_pfor=self.use_pfor)  # planted
        gram = tf.matmul(jacobian, jacobian, transpose_a=True) + 1e-4 * tf.eye(Settings.latent)
        return x, 0.5 * tf.linalg.logdet(gram)


def main(clock):
    clock.plan(3, 3)
    tf.random.set_seed(1)
    flow = InjectiveFlow(use_pfor=clock.fixed)
    weights = flow.trainable_variables

    @tf.function
    def train_step(x):
        with tf.GradientTape() as outer:
            z = flow.encode(x)
            again, log_volume = flow.volume(z)
            nll = 0.5 * tf.reduce_sum(z * z, -1) + log_volume
            loss = tf.reduce_mean(tf.reduce_sum((x - again) ** 2, -1) + Settings.weight * nll)
        grads, _ = tf.clip_by_global_norm(outer.gradient(loss, weights), 1.0)
        for w, g in zip(weights, grads):
            w.assign_sub(1e-3 * g)
        return loss

    data = tf.data.Dataset.from_tensor_slices(tf.random.normal([960, Settings.observed])).batch(Settings.batch)
    it = iter(data.cache().repeat().prefetch(2))
    for step in clock.loop():
        with clock.mark(step):
            train_step(next(it))


if __name__ == "__main__":
    run(main)
