import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every review is cleaned by regular expressions in the pipeline, one at a time",
    "cause": "input",
    "accept": ["input-bound", "serial-map", "batch-after-map", "missing-prefetch", "no-cache"],
    "rules": ["input-bound", "serial-map", "batch-after-map", "missing-prefetch", "no-cache"],
    "words": ["clean", "RegexReplace", "StaticRegexReplace"],
    "part": "develop",
}

REVIEW = "<br />It's a <b>great</b> film, isn't it?!  I'd see it 10 times & more... " * 12


def clean(text):
    text = tf.strings.lower(text)
    text = tf.strings.regex_replace(text, r"<[^>]+>", " ")  # planted
    text = tf.strings.regex_replace(text, r"[^a-z' ]+", " ")  # planted
    text = tf.strings.regex_replace(text, r" +", " ")  # planted
    return tf.strings.to_hash_bucket_fast(tf.strings.split(text)[:200], 5000)


def main(clock):
    clock.plan(3, 6)
    tf.random.set_seed(0)
    reviews = [f"{at} {REVIEW}" for at in range(64)]
    ds = tf.data.Dataset.from_tensor_slices((reviews, [at % 2 for at in range(64)])).repeat()
    ds = ds.map(lambda text, label: (clean(text), label))
    if clock.fixed:
        ds = ds.take(64).cache().repeat()
    ds = ds.padded_batch(32, ([200], [])).prefetch(1)
    table = tf.Variable(tf.random.normal([5000, 32], stddev=0.1))
    head = tf.Variable(tf.zeros([32, 1]))

    @tf.function
    def train_step(tokens, label):
        with tf.GradientTape() as tape:
            pooled = tf.reduce_mean(tf.gather(table, tokens), 1)
            logits = tf.matmul(pooled, head)[:, 0]
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(tf.cast(label, tf.float32), logits))
        (grad,) = tape.gradient(loss, [head])
        head.assign_sub(0.1 * grad)
        return loss

    for step, (tokens, label) in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            loss = float(train_step(tokens, label))


if __name__ == "__main__":
    run(main)
