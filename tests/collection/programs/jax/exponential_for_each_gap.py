"""Disease stages as a Markov process in continuous time, seen at visits, in plain JAX."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each gap between two visits takes an exponential of the one matrix of rates times the gap",
    "cause": "the same decomposed again",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["expm"],
    "part": "develop",
}

STAGES, GAPS = 12, 320


def rates_of(params):
    """A reversible process: symmetric exchanges, scaled by how often each stage is held."""
    held = jax.nn.softmax(params["held"])
    exchange = jax.nn.softplus(params["exchange"])
    exchange = exchange + exchange.T
    rates = exchange * held[None, :]
    return held, rates - jnp.diag(rates.sum(1))


def moves_by_gap(params, gaps):
    _held, rates = rates_of(params)
    return jax.vmap(jax.scipy.linalg.expm)(gaps[:, None, None] * rates)  # planted


def moves_of_gaps(params, gaps):
    held, rates = rates_of(params)
    root = jnp.sqrt(held)
    even = rates * root[:, None] / root[None, :]
    values, vectors = jnp.linalg.eigh(0.5 * (even + even.T))
    decay = jnp.exp(gaps[:, None] * values)
    return (vectors / root[:, None] * decay[:, None, :]) @ (vectors.T * root[None, :])


def main(clock):
    clock.plan(2, 6)
    moves = moves_of_gaps if clock.fixed else moves_by_gap

    def loss_of(params, gaps, before, after):
        found = moves(params, gaps)
        return -jnp.mean(jnp.log(found[jnp.arange(GAPS), before, after] + 1e-9))

    @jax.jit
    def train_step(params, gaps, before, after):
        loss, grads = jax.value_and_grad(loss_of)(params, gaps, before, after)
        return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    draw = np.random.default_rng(4)
    params = {
        "held": jnp.asarray(draw.normal(size=STAGES) * 0.1, jnp.float32),
        "exchange": jnp.asarray(draw.normal(size=(STAGES, STAGES)) * 0.1, jnp.float32),
    }
    for step in clock.loop():
        with clock.mark(step):
            gaps = jnp.asarray(draw.gamma(2.0, 1.0, size=GAPS), jnp.float32)
            before, after = jnp.asarray(draw.integers(STAGES, size=(2, GAPS)))
            params, loss = train_step(params, gaps, before, after)
            float(loss)


if __name__ == "__main__":
    run(main)
