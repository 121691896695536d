"""word2vec: skip-grams with negative samples, drawn in the compiled step."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

WORDS, WIDTH, BATCH, NEGATIVES = 8000, 128, 1024, 5


class Word2Vec(tf.Module):
    def __init__(self):
        super().__init__()
        self.target = tf.Variable(tf.random.uniform([WORDS, WIDTH], -0.01, 0.01))
        self.context = tf.Variable(tf.zeros([WORDS, WIDTH]))
        self.optimizer = tf.keras.optimizers.SGD(0.1)

    @tf.function(jit_compile=False)
    def train_step(self, words, near):
        far = tf.random.uniform([BATCH, NEGATIVES], 0, WORDS, tf.int32)
        with tf.GradientTape() as tape:
            middle = tf.gather(self.target, words)
            around = tf.gather(self.context, tf.concat([near[:, None], far], 1))
            scores = tf.einsum("bd,bnd->bn", middle, around)
            labels = tf.one_hot(tf.zeros(BATCH, tf.int32), 1 + NEGATIVES)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, scores))
        variables = [self.target, self.context]
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


def main(clock):
    clock.plan(5, 6)
    tf.random.set_seed(0)
    text = tf.random.uniform([400_000], 0, WORDS, tf.int32)
    pairs = tf.data.Dataset.from_tensor_slices((text[:-1], text[1:])).batch(BATCH, drop_remainder=True)
    data = iter(pairs.cache().repeat().prefetch(tf.data.AUTOTUNE))
    model = Word2Vec()
    for step in clock.loop():
        with clock.mark(step):
            model.train_step(*next(data))


if __name__ == "__main__":
    run(main)
