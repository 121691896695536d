import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


class DeepAndCross(tf.keras.Model):
    def __init__(self):
        super().__init__()
        dense = tf.keras.layers.Dense
        self.tables = [tf.keras.layers.Embedding(500, 16) for _ in range(6)]
        self.cross = [dense(96 + 16) for _ in range(2)]
        self.deep = [dense(512, "relu"), dense(512, "relu"), dense(128, "relu")]
        self.out = dense(1)

    def call(self, inputs):
        ids, numbers = inputs
        x0 = tf.concat([table(ids[:, i]) for i, table in enumerate(self.tables)] + [numbers], 1)
        x = x0
        for layer in self.cross:
            x = x0 * layer(x) + x
        deep = x0
        for layer in self.deep:
            deep = layer(deep)
        return self.out(tf.concat([x, deep], 1))[:, 0]


def main(clock):
    clock.plan(3, 6)
    tf.random.set_seed(0)
    ids = tf.random.uniform([16384, 6], maxval=500, dtype=tf.int32)
    numbers, clicks = tf.random.normal([16384, 16]), tf.round(tf.random.uniform([16384]))
    ds = tf.data.Dataset.from_tensor_slices(((ids, numbers), clicks)).batch(1024).cache().shuffle(16).repeat().prefetch(2)
    model = DeepAndCross()
    optimizer = tf.keras.optimizers.Adam(1e-3)

    @tf.function
    def train_step(inputs, clicks):
        with tf.GradientTape() as tape:
            logits = model(inputs, training=True)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(clicks, logits))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    for step, (inputs, clicks) in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(inputs, clicks)


if __name__ == "__main__":
    run(main)
