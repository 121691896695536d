"""PPO: log probabilities stored with the rollout, one compiled function for a minibatch."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

OBS, ACTIONS, HIDDEN, MINIBATCH = 128, 8, 768, 1024


class ActorCritic(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.trunk = tf.keras.Sequential([tf.keras.layers.Dense(HIDDEN, "relu") for _ in range(3)])
        self.mean = tf.keras.layers.Dense(ACTIONS)
        self.value = tf.keras.layers.Dense(1)
        self.log_std = tf.Variable(tf.zeros(ACTIONS), name="log_std")

    def call(self, states):
        hidden = self.trunk(states)
        return self.mean(hidden), tf.squeeze(self.value(hidden), -1)

    def log_prob(self, mean, actions):
        scaled = (actions - mean) * tf.exp(-self.log_std)
        return -tf.reduce_sum(0.5 * scaled**2 + self.log_std, -1)


def main(clock):
    clock.plan(4, 5)
    rng = np.random.default_rng(0)
    rows = 4 * MINIBATCH
    rollout = {
        "states": rng.normal(size=(rows, OBS)).astype(np.float32),
        "actions": rng.normal(size=(rows, ACTIONS)).astype(np.float32),
        "logp": rng.normal(-ACTIONS, 0.1, rows).astype(np.float32),
        "advantages": rng.normal(size=rows).astype(np.float32),
        "returns": rng.normal(size=rows).astype(np.float32),
    }
    model, optimizer = ActorCritic(), tf.keras.optimizers.Adam(3e-4)

    @tf.function
    def learn(batch):
        with tf.GradientTape() as tape:
            mean, value = model(batch["states"])
            ratio = tf.exp(model.log_prob(mean, batch["actions"]) - batch["logp"])
            clipped = tf.clip_by_value(ratio, 0.8, 1.2)
            policy = -tf.reduce_mean(tf.minimum(ratio * batch["advantages"], clipped * batch["advantages"]))
            loss = policy + 0.5 * tf.reduce_mean((value - batch["returns"]) ** 2)
        variables = model.trainable_variables
        grads, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), 0.5)
        optimizer.apply_gradients(zip(grads, variables))
        return loss

    data = tf.data.Dataset.from_tensor_slices(rollout).cache().repeat().batch(MINIBATCH, drop_remainder=True).prefetch(4)
    batches = iter(data)
    for step in clock.loop():
        with clock.mark(step):
            loss = learn(next(batches))
    loss.numpy()


if __name__ == "__main__":
    run(main)
