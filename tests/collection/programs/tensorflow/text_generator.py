import re
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "reviews are cleaned with regular expressions in a Python generator",
    "cause": "Python in the input pipeline",
    "accept": ["python-in-pipeline", "input-bound"],
    "rules": ["python-in-pipeline", "input-bound", "missing-prefetch", "serial-map"],
    "words": ["Generator", "reviews", "clean", "PyFunc"],
    "part": "develop",
}
TEXT = "It was <b>great</b>!! I'd watch it again, and again... (10/10) http://example.com/x?y=1 " * 40
VOCABULARY = 2000


def clean(text):
    text = re.sub(r"<[^>]+>", " ", text)  # planted
    text = re.sub(r"https?://\S+", " ", text)
    text = re.sub(r"[^a-zA-Z' ]", " ", text)
    return re.sub(r"\s+", " ", text).lower().split(" ")


def main(clock):
    clock.plan(3, 8)
    ready = np.array([hash(word) % VOCABULARY for word in clean(TEXT)][:128], np.int32)

    def reviews():
        while True:
            if clock.fixed:
                yield ready, 1.0
            else:
                words = clean(TEXT)
                yield np.array([hash(word) % VOCABULARY for word in words][:128], np.int32), 1.0

    if clock.fixed:
        ds = tf.data.Dataset.from_tensors((ready, 1.0)).repeat()
    else:
        ds = tf.data.Dataset.from_generator(
            reviews, output_types=(tf.int32, tf.float32), output_shapes=([128], [])
        )
    ds = ds.batch(16).prefetch(1)
    table = tf.Variable(tf.random.normal([VOCABULARY, 64]) * 0.1)
    head = tf.Variable(tf.random.normal([64, 1]) * 0.1)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            pooled = tf.reduce_mean(tf.gather(table, x), axis=1)
            logits = tf.matmul(tf.nn.relu(pooled), head)[:, 0]
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
        grads = tape.gradient(loss, [table, head])
        table.assign_sub(0.1 * tf.convert_to_tensor(grads[0]))
        head.assign_sub(0.1 * grads[1])
        return loss

    for step, (x, y) in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(x, y)


if __name__ == "__main__":
    run(main)
