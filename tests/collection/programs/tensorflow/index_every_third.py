"""Dense retrieval with hard negatives from an index of all passages (ANCE)."""
import sys
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every third step encodes all passages again for the index of hard negatives, not once per epoch",
    "cause": "bursts",
    "accept": ["largest-part", "uneven-steps", "slow-steps"],
    "rules": ["uneven-steps", "slow-steps"],
    "words": ["refresh", "encode_all"],
    "part": "develop",
}


class Config:
    vocab = 8000
    length = 48
    dim = 128
    hidden = 256
    passages = 3072
    batch = 64
    chunk = 1536
    margin = 0.2
    refresh_every = 3
    refresh_every_fixed = 10**6


class Encoder(tf.keras.Model):
    def __init__(self, cfg):
        super().__init__()
        self.table = tf.keras.layers.Embedding(cfg.vocab, cfg.dim)
        self.hidden = tf.keras.layers.Dense(cfg.hidden, "gelu")
        self.hidden2 = tf.keras.layers.Dense(cfg.hidden, "gelu")
        self.out = tf.keras.layers.Dense(cfg.dim)

    def call(self, tokens):
        x = self.hidden2(self.hidden(self.table(tokens)))
        return tf.math.l2_normalize(self.out(tf.reduce_mean(x, 1)), -1)


class Index:
    def __init__(self, encoder, passages, cfg):
        self.encoder, self.passages, self.cfg = encoder, passages, cfg
        self.vectors = None
        self.built_at = 0.0

    @tf.function(reduce_retracing=True)
    def encode(self, tokens):
        return self.encoder(tokens)

    def encode_all(self):
        n, chunk = len(self.passages), self.cfg.chunk
        return tf.concat([self.encode(self.passages[i : i + chunk]) for i in range(0, n, chunk)], 0)  # planted

    def refresh(self):
        self.vectors = self.encode_all()  # planted
        self.built_at = time.time()


class Trainer:
    def __init__(self, cfg, passages, every):
        self.cfg, self.every = cfg, every
        self.passages = tf.constant(passages)
        self.encoder = Encoder(cfg)
        self.encoder(self.passages[:2])
        self.index = Index(self.encoder, self.passages, cfg)
        self.optimizer = tf.keras.optimizers.SGD(0.01)

    @tf.function
    def step(self, queries, truth, vectors):
        q = self.encoder(queries)
        scores = tf.matmul(q, vectors, transpose_b=True) - 2.0 * tf.one_hot(truth, self.cfg.passages)
        hard = tf.gather(self.passages, tf.argmax(scores, -1))
        with tf.GradientTape() as tape:
            q = self.encoder(queries)
            good, bad = self.encoder(tf.gather(self.passages, truth)), self.encoder(hard)
            gap = tf.reduce_sum(q * bad, -1) - tf.reduce_sum(q * good, -1)
            loss = tf.reduce_mean(tf.nn.relu(gap + self.cfg.margin))
        weights = self.encoder.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    def train(self, number, batch):
        if number % self.every == 0:
            self.index.refresh()
        return self.step(*batch, self.index.vectors)


def main(clock):
    clock.plan(5, 6)
    cfg = Config()
    rng = np.random.default_rng(3)
    passages = rng.integers(0, cfg.vocab, (cfg.passages, cfg.length)).astype("int32")
    trainer = Trainer(cfg, passages, cfg.refresh_every_fixed if clock.fixed else cfg.refresh_every)

    truth = rng.integers(0, cfg.passages, 4096)
    ds = tf.data.Dataset.from_tensor_slices((passages[truth], truth)).shuffle(4096).repeat()
    it = iter(ds.batch(cfg.batch, drop_remainder=True).prefetch(2))
    for step in clock.loop():
        with clock.mark(step):
            trainer.train(step, next(it))


if __name__ == "__main__":
    run(main)
