"""A belief net with twelve binary causes, trained on its variational bound."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "expectations under independent bits are summed over all 4096 codes, though bound and prior split into one term a bit",
    "cause": "an algorithm that does more than it must",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["expected_over_codes", "CODES"],
    "part": "develop",
}

BITS, PIXELS, BATCH, WIDTH = 12, 784, 128, 1024
CODES = ((np.arange(2**BITS)[:, None] >> np.arange(BITS)) & 1).astype("float32")


def init(key):
    a, b, c = jax.random.split(key, 3)
    scaled = lambda key, i, o: jax.random.normal(key, (i, o)) * i**-0.5
    return {"in": scaled(a, PIXELS, WIDTH), "bits": scaled(b, WIDTH, BITS), "out": scaled(c, BITS, PIXELS), "prior": jnp.zeros(BITS)}


def expected_over_codes(p, logits):
    """Mean reconstruction, entropy and prior, summed over every code."""
    on, off = jax.nn.log_sigmoid(logits), jax.nn.log_sigmoid(-logits)
    log_q = on @ CODES.T + off @ (1 - CODES).T  # planted
    q = jnp.exp(log_q)  # planted
    log_prior = CODES @ jax.nn.log_sigmoid(p["prior"]) + (1 - CODES) @ jax.nn.log_sigmoid(-p["prior"])
    return q @ (CODES @ p["out"]), -(q * log_q).sum(-1), q @ log_prior  # planted


def expected_bit_by_bit(p, logits):
    q = jax.nn.sigmoid(logits)
    on, off = jax.nn.log_sigmoid(logits), jax.nn.log_sigmoid(-logits)
    log_prior = q @ jax.nn.log_sigmoid(p["prior"]) + (1 - q) @ jax.nn.log_sigmoid(-p["prior"])
    return q @ p["out"], -(q * on + (1 - q) * off).sum(-1), log_prior


@partial(jax.jit, static_argnums=2)
def train_step(p, x, by_bit):
    def loss(p):
        logits = jax.nn.relu(x @ p["in"]) @ p["bits"]
        expected = expected_bit_by_bit if by_bit else expected_over_codes
        mean, entropy, prior = expected(p, logits)
        return (((x - mean) ** 2).sum(-1) - entropy - prior).mean()

    value, grads = jax.value_and_grad(loss)(p)
    return jax.tree_util.tree_map(lambda a, g: a - 1e-3 * g, p, grads), value


def main(clock):
    clock.plan(4, 5)
    p, rng = init(jax.random.PRNGKey(0)), np.random.default_rng(0)
    digits = rng.random((2048, PIXELS), dtype="float32")
    value = jnp.zeros(())
    for step in clock.loop(lambda: value):
        with clock.mark(step):
            x = digits[rng.integers(0, len(digits), BATCH)]
            p, value = train_step(p, x, clock.fixed)
            value.block_until_ready()


if __name__ == "__main__":
    run(main)
