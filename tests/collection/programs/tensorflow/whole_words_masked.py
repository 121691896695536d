"""Masked language modelling of log lines with a small encoder."""
import random
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "whole words are masked by a collator in Python, which looks at the text of each token, shuffles lists and asks a set for each place of the batch",
    "cause": "Python loop",
    "accept": ["largest-part", "python-bound", "input-bound", "host-input-limit", "missing-prefetch"],
    "rules": ["python-bound", "input-bound", "host-input-limit", "missing-prefetch"],
    "words": ["mask_words", "words_of", "shuffle", "startswith"],
    "part": "develop",
}

WORDS, LENGTH, BATCH, WIDTH, MASK, SHARE = 600, 48, 160, 32, 1, 0.15
PIECES = [("##" if number % 3 == 0 else "") + f"piece{number}" for number in range(WORDS)]
IS_START = np.array([not piece.startswith("##") for piece in PIECES])


def words_of(ids):
    """Places of the tokens of each word: later pieces begin with ##."""
    words = []
    for place, token in enumerate(ids):
        if PIECES[token].startswith("##") and words:  # planted
            words[-1].append(place)
        else:
            words.append([place])
    return words


def mask_words(batch):
    ids, labels = batch.copy(), np.full(batch.shape, -1, "int32")
    for row in range(BATCH):
        words = words_of(batch[row].tolist())  # planted
        random.shuffle(words)  # planted
        covered = set()
        for word in words:
            if len(covered) + len(word) > SHARE * LENGTH:
                continue
            covered.update(word)  # planted
        for place in range(LENGTH):
            if place in covered:  # planted
                labels[row, place], ids[row, place] = batch[row, place], MASK  # planted
    return ids, labels


def mask_all_at_once(batch):
    rng = np.random.default_rng()
    word = np.cumsum(IS_START[batch], axis=1)
    is_chosen = np.take_along_axis(rng.random((BATCH, LENGTH + 1), "float32") < SHARE, word, axis=1)
    return np.where(is_chosen, MASK, batch), np.where(is_chosen, batch, -1)


class Encoder(tf.Module):
    def __init__(self):
        super().__init__()
        new = lambda i, o: tf.Variable(tf.random.normal([i, o]) * i**-0.5)
        self.words, self.places = new(WORDS, WIDTH), new(LENGTH, WIDTH)
        self.qkv, self.up, self.down = new(WIDTH, 3 * WIDTH), new(WIDTH, 2 * WIDTH), new(2 * WIDTH, WIDTH)

    def __call__(self, ids):
        x = tf.gather(self.words, ids) + self.places
        q, k, v = tf.split(x @ self.qkv, 3, -1)
        x += tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * WIDTH**-0.5) @ v
        return x + tf.nn.gelu(x @ self.up) @ self.down


def main(clock):
    clock.plan(3, 4)
    random.seed(0)
    tf.random.set_seed(0)
    model = Encoder()
    lines = np.random.default_rng(0).integers(2, WORDS, (40, BATCH, LENGTH), "int32")

    @tf.function
    def train_step(ids, labels):
        with tf.GradientTape() as tape:
            chosen = tf.where(labels >= 0)
            logits = tf.matmul(tf.gather_nd(model(ids), chosen), model.words, transpose_b=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.gather_nd(labels, chosen), logits)
            loss = tf.reduce_mean(losses)
        for w, g in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            w.assign_sub(0.01 * g)
        return loss

    mask = mask_all_at_once if clock.fixed else mask_words
    for step in clock.loop():
        with clock.mark(step):
            train_step(*mask(lines[step % 40]))


if __name__ == "__main__":
    run(main)
