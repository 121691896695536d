import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "negative samples are drawn with one random number for every word of the vocabulary",
    "cause": "an algorithm that does more than it must",
    "accept": [],
    "rules": ["dominant-op"],
    "words": ["sample_negatives", "threefry", "gumbel", "categorical"],
    "part": "develop",
}


def sample_negatives(key, logits, count):
    return jax.random.categorical(key, logits, shape=(count,))  # planted


def sample_by_table(key, logits, count):
    table = jnp.cumsum(jax.nn.softmax(logits))
    return jnp.searchsorted(table, jax.random.uniform(key, (count,)))


def main(clock):
    clock.plan(2, 6)
    vocabulary = 10_000
    key = jax.random.PRNGKey(0)
    table = jax.random.normal(key, (vocabulary, 32)) * 0.1
    logits = -0.75 * jnp.log1p(jnp.arange(vocabulary))
    sample = sample_by_table if clock.fixed else sample_negatives

    @jax.jit
    def word2vec(table, key, centre, context):
        negative = sample(key, logits, 128)

        def loss(table):
            good = jnp.sum(table[centre] * table[context], -1)
            bad = table[centre] @ table[negative].T
            return -jnp.mean(jax.nn.log_sigmoid(good)) - jnp.mean(jax.nn.log_sigmoid(-bad))

        return table - 0.1 * jax.grad(loss)(table)

    words = jax.random.randint(key, (2, 256), 0, vocabulary)
    for step in clock.loop(lambda: table):
        with clock.mark(step):
            key, now = jax.random.split(key)
            table = word2vec(table, now, words[0], words[1])
            table.block_until_ready()


if __name__ == "__main__":
    run(main)
