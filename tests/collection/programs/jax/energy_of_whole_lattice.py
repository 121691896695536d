"""Metropolis sampling of an Ising model, many temperatures side by side."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each proposed flip adds up the energy of the whole lattice, where the four neighbours of the spin decide",
    "cause": "an algorithm that does more than it must",
    "accept": ["largest-part", "graph-loop"],
    "rules": ["graph-loop"],
    "words": ["energy", "propose", "flip"],
    "part": "develop",
}

SIDE, COUPLING = 16, 1.0


def energy(spins):
    bonds = spins * jnp.roll(spins, 1, 0) + spins * jnp.roll(spins, 1, 1)
    return -COUPLING * bonds.sum()  # planted


def change_by_neighbours(spins, i, j):
    around = spins[(i + 1) % SIDE, j] + spins[i - 1, j] + spins[i, (j + 1) % SIDE] + spins[i, j - 1]
    return 2 * COUPLING * spins[i, j] * around


def change_of_energy(spins, i, j):
    flipped = spins.at[i, j].multiply(-1)
    return energy(flipped) - energy(spins)  # planted


def chain(key, spins, beta, proposals, local):
    def propose(spins, draw):
        i, j, u = draw
        change = change_by_neighbours(spins, i, j) if local else change_of_energy(spins, i, j)  # planted
        accepted = u < jnp.exp(-beta * change)
        return spins.at[i, j].multiply(jnp.where(accepted, -1, 1)), accepted

    where, luck = jax.random.split(key)
    sites = jax.random.randint(where, (2, proposals), 0, SIDE)
    return jax.lax.scan(propose, spins, (sites[0], sites[1], jax.random.uniform(luck, (proposals,))))


def correlations(lattices):
    power = jnp.abs(jnp.fft.rfft2(lattices)) ** 2
    return jnp.fft.irfft2(power, (SIDE, SIDE))[:, : SIDE // 2, 0] / SIDE**2


@partial(jax.jit, static_argnames=("proposals", "local"))
def sweep(key, lattices, betas, proposals, local):
    keys = jax.random.split(key, len(betas))
    lattices, accepted = jax.vmap(lambda k, s, b: chain(k, s, b, proposals, local))(keys, lattices, betas)
    return lattices, correlations(lattices), accepted.mean(1)


def main(clock):
    clock.plan(2, 3)
    key = jax.random.PRNGKey(0)
    betas = 1.0 / jnp.linspace(1.5, 3.5, 96)
    lattices = jnp.ones((len(betas), SIDE, SIDE))
    measured = betas
    for step in clock.loop(lambda: measured):
        with clock.mark(step):
            key, own = jax.random.split(key)
            lattices, measured, _ = sweep(own, lattices, betas, proposals=80, local=clock.fixed)


if __name__ == "__main__":
    run(main)
