import random
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "negative items are drawn one by one and thrown away while the user knows them, in Python",
    "cause": "sampling in Python in the loop",
    "accept": ["python-bound"],
    "rules": ["python-bound", "input-bound"],
    "words": ["sample_negatives", "randrange", "randint", "Interactions"],
    "part": "develop",
}

USERS, ITEMS = 2000, 3000


class Interactions:
    def __init__(self):
        rng = np.random.default_rng(0)
        self.pairs = np.stack([rng.integers(0, USERS, 60_000), rng.integers(0, ITEMS, 60_000)], 1)
        self.known = {}
        for user, item in self.pairs.tolist():
            self.known.setdefault(user, set()).add(item)
        self.table = np.zeros((USERS, ITEMS), bool)
        self.table[self.pairs[:, 0], self.pairs[:, 1]] = True

    def sample_negatives(self, users, each):
        negatives = []
        for user in users.tolist():
            row = []
            while len(row) < each:
                item = random.randrange(ITEMS)  # planted
                if item not in self.known[user] and item not in row:  # planted
                    row.append(item)  # planted
            negatives.append(row)
        return np.array(negatives)

    def sample_at_once(self, users, each):
        items = np.random.randint(0, ITEMS, (len(users), each))
        bad = self.table[users[:, None], items]
        while bad.any():
            items[bad] = np.random.randint(0, ITEMS, bad.sum())
            bad = self.table[users[:, None], items]
        return items


def main(clock):
    clock.plan(3, 6)
    data = Interactions()
    users = tf.keras.layers.Embedding(USERS, 64)
    items = tf.keras.layers.Embedding(ITEMS, 64)
    tower = tf.keras.Sequential([tf.keras.layers.Dense(256, "relu"), tf.keras.layers.Dense(64)])
    optimizer = tf.keras.optimizers.Adam(1e-3)

    @tf.function
    def train_step(user, positive, negative):
        with tf.GradientTape() as tape:
            u = tower(users(user))[:, None]
            margin = tf.reduce_sum(u * (items(positive)[:, None] - items(negative)), -1)
            loss = tf.reduce_mean(tf.nn.softplus(-margin))
        variables = users.trainable_variables + items.trainable_variables + tower.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    draw = data.sample_at_once if clock.fixed else data.sample_negatives
    order = np.random.default_rng(1).permutation(len(data.pairs))
    for step in clock.loop():
        with clock.mark(step):
            batch = data.pairs[order[512 * step : 512 * step + 512]]
            negative = draw(batch[:, 0], 5)
            train_step(tf.constant(batch[:, 0]), tf.constant(batch[:, 1]), tf.constant(negative))


if __name__ == "__main__":
    run(main)
