"""Branch lengths of a tree of species by gradient ascent: a codon model, Felsenstein's pruning."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import expm

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the matrix exponential of 61 x 61 rates is taken for each branch by itself, where one decomposition of the reversible rates serves all",
    "cause": "an algorithm that does more than it must",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["expm", "transition_probabilities", "triangular_solve", "lu_factor"],
    "part": "develop",
}

STATES, LEAVES, SITES = 61, 8, 1200


def rate_matrix(rng):
    """A reversible process: symmetric exchangeabilities times frequencies."""
    frequencies = rng.dirichlet(np.full(STATES, 8.0))
    exchange = np.abs(rng.standard_normal((STATES, STATES)))
    rates = (exchange + exchange.T) * frequencies
    np.fill_diagonal(rates, 0.0)
    np.fill_diagonal(rates, -rates.sum(1))
    rates /= -(frequencies * np.diag(rates)).sum()
    return jnp.asarray(rates, jnp.float32), jnp.asarray(frequencies, jnp.float32)


def spectrum(rates, frequencies):
    root = jnp.sqrt(frequencies)
    values, vectors = jnp.linalg.eigh(rates * root[:, None] / root)
    return values, vectors / root[:, None], vectors.T * root


def transition_probabilities(rates, spectral, lengths):
    if spectral is None:
        return jax.vmap(lambda t: expm(rates * t))(lengths)  # planted
    values, left, right = spectral
    return jnp.einsum("ik,bk,kj->bij", left, jnp.exp(lengths[:, None] * values), right)


def log_likelihood(log_lengths, rates, frequencies, spectral, leaves):
    transitions = transition_probabilities(rates, spectral, jnp.exp(log_lengths))
    partials, first = leaves, 0
    while len(partials) > 1:
        moved = jnp.einsum("bij,bsj->bsi", transitions[first : first + len(partials)], partials)
        first += len(partials)
        partials = moved[0::2] * moved[1::2]
    return jnp.log(partials[0] @ frequencies + 1e-30).sum()


@partial(jax.jit, static_argnames="decompose")
def ascend(log_lengths, rates, frequencies, leaves, decompose):
    spectral = spectrum(rates, frequencies) if decompose else None
    value, slope = jax.value_and_grad(log_likelihood)(log_lengths, rates, frequencies, spectral, leaves)
    return log_lengths + 1e-4 * slope, value


def main(clock):
    clock.plan(2, 4)
    rng = np.random.default_rng(0)
    rates, frequencies = rate_matrix(rng)
    sites = rng.integers(0, STATES, (6, LEAVES, SITES))
    alignments = jax.nn.one_hot(jnp.asarray(sites), STATES)
    log_lengths = jnp.log(jnp.asarray(rng.uniform(0.02, 0.4, 2 * LEAVES - 2), jnp.float32))
    value = jnp.zeros(())
    for step in clock.loop(lambda: value):
        with clock.mark(step):
            log_lengths, value = ascend(log_lengths, rates, frequencies, alignments[step % 6], clock.fixed)


if __name__ == "__main__":
    run(main)
