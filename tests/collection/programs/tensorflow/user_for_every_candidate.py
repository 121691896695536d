"""Ranking of films for a user: a request with its candidates, through a deep interest network."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the user's history is repeated for each of 120 candidates before the tower that encodes it, which gives 120 times the same",
    "cause": "work done again",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["encode_user", "candidate_scores"],
    "part": "develop",
}

FILMS, HISTORY, DIM, CANDIDATES = 6000, 40, 48, 120


class Ranker(tf.keras.Model):
    def __init__(self, user_once):
        super().__init__()
        self.user_once = user_once
        layers = tf.keras.layers
        self.film = layers.Embedding(FILMS, DIM)
        self.first = layers.Dense(128, "relu")
        self.second = layers.Dense(DIM)
        self.head = tf.keras.Sequential([layers.Dense(200, "relu"), layers.Dense(80, "relu"), layers.Dense(1)])

    def encode_user(self, history):
        x = self.film(history)  # planted
        x = self.second(self.first(x))  # planted
        attention = tf.nn.softmax(tf.einsum("bld,bmd->blm", x, x) * DIM**-0.5)  # planted
        return tf.reduce_mean(tf.matmul(attention, x), 1)  # planted

    @tf.function
    def candidate_scores(self, history, candidates):
        if self.user_once:
            user = tf.repeat(self.encode_user(history[None]), CANDIDATES, 0)
        else:
            user = self.encode_user(tf.repeat(history[None], CANDIDATES, 0))  # planted
        film = self.film(candidates)
        features = tf.concat([user, film, user * film], -1)
        return tf.nn.sigmoid(self.head(features)[:, 0])


def requests(n):
    rng = np.random.default_rng(0)
    for _ in range(n):
        yield rng.integers(0, FILMS, HISTORY), rng.choice(FILMS, CANDIDATES, replace=False)


def answer(ranker, history, candidates, count=10):
    scores = ranker.candidate_scores(tf.constant(history, tf.int32), tf.constant(candidates, tf.int32))
    return candidates[tf.math.top_k(scores, count).indices.numpy()]


def main(clock):
    clock.plan(4, 6)
    ranker = Ranker(user_once=clock.fixed)
    for step, (history, candidates) in enumerate(requests(20)):
        if clock.tick(step):
            break
        with clock.mark(step, "request"):
            answer(ranker, history, candidates)


if __name__ == "__main__":
    run(main)
