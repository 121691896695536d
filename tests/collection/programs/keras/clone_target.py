import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the target network is cloned from the model for each batch of replay",
    "cause": "a model built again in each step",
    "accept": ["python-bound"],
    "rules": ["python-bound", "eager-execution", "launch-bound"],
    "words": ["clone_model", "sync_target", "set_weights"],
    "part": "develop",
}


class Agent:
    def __init__(self, clones):
        layers = tf.keras.layers
        self.model = tf.keras.Sequential(
            [tf.keras.Input((16,)), layers.Dense(768, activation="relu"), layers.Dense(768, activation="relu"), layers.Dense(4)]
        )
        self.target = tf.keras.models.clone_model(self.model)
        self.optimizer = tf.keras.optimizers.Adam(1e-3)
        self.clones = clones
        self.steps = 0

    def sync_target(self):
        self.target = tf.keras.models.clone_model(self.model)  # planted
        self.target.set_weights(self.model.get_weights())  # planted

    def soft_update(self):
        for a, b in zip(self.target.trainable_variables, self.model.trainable_variables):
            a.assign(0.99 * a + 0.01 * b)

    @tf.function
    def descend(self, states, actions, goals):
        with tf.GradientTape() as tape:
            q = tf.gather(self.model(states), actions, batch_dims=1)
            loss = tf.reduce_mean((goals - q) ** 2)
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def replay(self, states, actions, rewards, following):
        if self.clones:
            self.sync_target()
        elif self.steps % 50 == 49:
            self.soft_update()
        self.steps += 1
        goals = rewards + 0.99 * tf.reduce_max(self.target(following), 1)
        return self.descend(states, actions, goals)


def main(clock):
    clock.plan(3, 5)
    rng = np.random.default_rng(0)
    states = rng.normal(size=(4096, 16)).astype(np.float32)
    actions, rewards = rng.integers(0, 4, 4096), rng.normal(size=4096).astype(np.float32)
    agent = Agent(clones=not clock.fixed)
    for step in clock.loop():
        with clock.mark(step):
            index = rng.integers(0, 4095, 512)
            agent.replay(tf.constant(states[index]), tf.constant(actions[index]), tf.constant(rewards[index]), tf.constant(states[index + 1]))


if __name__ == "__main__":
    run(main)
