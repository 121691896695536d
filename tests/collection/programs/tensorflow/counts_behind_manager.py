"""News for readers: a contextual bandit whose actors share their counts."""
import multiprocessing
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "counts of clicks lie in a dict of multiprocessing's Manager and are asked for key by key: each is a message to another process",
    "cause": "messages between processes",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound"],
    "words": ["managers", "_callmethod", "DictProxy", "bonuses", "SharedCounts"],
    "part": "develop",
}

ARMS, CONTEXT, BATCH = 80, 64, 512


class SharedCounts:
    """How often each article was shown, by all actors together."""

    def __init__(self, manager, at_once):
        self.shown = manager.dict({arm: 1 for arm in range(ARMS)})
        self.at_once = at_once

    def bonuses(self, round_number):
        if self.at_once:
            everything = self.shown.copy()
            shown = [everything[arm] for arm in range(ARMS)]
        else:
            shown = [self.shown[arm] for arm in range(ARMS)]  # planted
        return np.sqrt(np.log(round_number + 2.0) / np.array(shown, np.float32)).astype(np.float32)

    def add(self, arms):
        unique, counts = np.unique(arms, return_counts=True)
        top = counts.argmax()
        self.shown[int(unique[top])] += int(counts[top])


class Scorer(tf.Module):
    def __init__(self):
        super().__init__()
        sizes = [CONTEXT, 512, 512, ARMS]
        self.ws = [tf.Variable(tf.random.normal([a, b], stddev=a**-0.5)) for a, b in zip(sizes, sizes[1:])]

    def __call__(self, x):
        for w in self.ws[:-1]:
            x = tf.nn.relu(x @ w)
        return x @ self.ws[-1]


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(CONTEXT, ARMS)).astype(np.float32)
    net = Scorer()

    @tf.function
    def choose(x, bonus):
        return tf.argmax(net(x) + bonus, -1)

    @tf.function
    def learn(x, arms, rewards):
        with tf.GradientTape() as tape:
            guess = tf.gather(net(x), arms, batch_dims=1)
            loss = tf.reduce_mean(tf.square(guess - rewards))
        for w, g in zip(net.ws, tape.gradient(loss, net.ws)):
            w.assign_sub(0.01 * g)
        return loss

    manager = multiprocessing.Manager()
    counts = SharedCounts(manager, at_once=clock.fixed)
    for step in clock.loop():
        with clock.mark(step, "round"):
            x = rng.normal(size=(BATCH, CONTEXT)).astype(np.float32)
            arms = choose(x, counts.bonuses(step)).numpy()
            rewards = (x * truth[:, arms].T).sum(1) > 0
            counts.add(arms)
            learn(x, arms, rewards.astype(np.float32))
    manager.shutdown()


if __name__ == "__main__":
    run(main)
