from collections import deque
import random
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "experience replay calls model.predict for every single memory",
    "cause": "Python around tiny calls",
    "accept": ["python-bound", "tiny-ops", "restarted-pipeline"],
    "rules": ["python-bound", "eager-execution", "small-batch", "tiny-ops", "restarted-pipeline"],
    "words": ["replay", "predict"],
    "part": "develop",
}


class Agent:
    def __init__(self):
        self.memory = deque(maxlen=2000)
        dense = tf.keras.layers.Dense
        self.model = tf.keras.Sequential([dense(24, activation="relu", input_shape=(4,)), dense(24, activation="relu"), dense(2)])
        self.model.compile("adam", "mse")

    def replay(self, batch):
        states, targets = [], []
        for state, action, reward, after in batch:
            target = self.model.predict(state[None], verbose=0)[0]  # planted
            target[action] = reward + 0.95 * np.amax(self.model.predict(after[None], verbose=0)[0])  # planted
            states.append(state)
            targets.append(target)
        self.model.train_on_batch(np.array(states), np.array(targets))

    def replay_at_once(self, batch):
        states, actions, rewards, after = (np.array(one) for one in zip(*batch))
        targets = self.model.predict_on_batch(states)
        targets[np.arange(len(batch)), actions] = rewards + 0.95 * self.model.predict_on_batch(after).max(1)
        self.model.train_on_batch(states, targets)


def main(clock):
    clock.plan(1, 2)
    random.seed(0)
    agent = Agent()
    for _ in range(200):
        state, after = np.random.rand(2, 4).astype(np.float32)
        agent.memory.append((state, random.randrange(2), 1.0, after))
    for step in clock.loop():
        with clock.mark(step, "replay step"):
            batch = random.sample(agent.memory, 3)
            if clock.fixed:
                agent.replay_at_once(batch)
            else:
                agent.replay(batch)


if __name__ == "__main__":
    run(main)
