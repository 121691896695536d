import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the perplexity of eight held-out batches is taken after every step",
    "cause": "validation in every step",
    "accept": [],
    "rules": [],
    "words": ["without gradients", "perplexity", "held_out_nats"],
    "part": "develop",
}
WORDS, CONTEXT, WIDTH = 400, 6, 160


def logits_of(params, words):
    x = params["table"][words].reshape(words.shape[0], -1)
    x = jnp.tanh(x @ params["mix"])
    return x @ params["out"]


def nats(params, words, answers):
    of_words = jax.nn.log_softmax(logits_of(params, words))
    return -jnp.mean(jnp.take_along_axis(of_words, answers[:, None], axis=1))


@jax.jit
def train_step(params, words, answers):
    loss, grads = jax.value_and_grad(nats)(params, words, answers)
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss


@jax.jit
def held_out_nats(params, words, answers):
    return nats(params, words, answers)


def perplexity(params, batches):
    return float(np.exp(np.mean([held_out_nats(params, *batch) for batch in batches])))  # planted


def main(clock):
    clock.plan(4, 12)
    rng = np.random.default_rng(1)
    batches = [
        (rng.integers(0, WORDS, (192, CONTEXT)), rng.integers(0, WORDS, 192)) for _ in range(12)
    ]
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    params = {
        "table": jax.random.normal(keys[0], (WORDS, WIDTH)) * 0.1,
        "mix": jax.random.normal(keys[1], (CONTEXT * WIDTH, 640)) * 0.03,
        "out": jax.random.normal(keys[2], (640, WORDS)) * 0.03,
    }
    for step in clock.loop():
        with clock.mark(step):
            params, loss = train_step(params, *batches[step % 4])
            float(loss)
            if not clock.fixed:
                perplexity(params, batches[4:])  # planted


if __name__ == "__main__":
    run(main)
