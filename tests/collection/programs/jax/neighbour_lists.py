"""Molecular dynamics of a Lennard-Jones fluid with a learned correction, velocity Verlet."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import cKDTree

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the list of neighbours is built on the host in each step, though its skin holds for twenty",
    "cause": "work done again",
    "accept": ["largest-part", "python-bound", "idle-device", "host-copies"],
    "rules": ["python-bound", "idle-device"],
    "words": ["cKDTree", "NeighbourList", "query_pairs"],
    "part": "develop",
}


class NeighbourList:
    """Pairs within the cut-off and a skin, padded to a fixed number."""

    def __init__(self, box, cutoff, skin, capacity, every):
        self.box, self.radius, self.capacity, self.every = box, cutoff + skin, capacity, every
        self.pairs, self.age = None, 0

    def build(self, positions):
        wrapped = np.mod(np.asarray(positions), self.box)
        tree = cKDTree(np.minimum(wrapped, np.nextafter(np.float32(self.box), np.float32(0))), boxsize=self.box)  # planted
        found = tree.query_pairs(self.radius, output_type="ndarray")  # planted
        if len(found) > self.capacity:
            raise RuntimeError(f"{len(found)} pairs overflow {self.capacity}")
        padded = np.zeros((self.capacity, 2), np.int32)  # planted
        padded[: len(found)] = found  # planted
        return jnp.asarray(padded), jnp.asarray(np.arange(self.capacity) < len(found))

    def update(self, positions):
        if self.pairs is None or self.age >= self.every:
            self.pairs, self.age = self.build(positions), 0
        self.age += 1
        return self.pairs


def mlp(params, r):
    h = r[:, None]
    for w, b in params[:-1]:
        h = jnp.tanh(h @ w + b)
    w, b = params[-1]
    return (h @ w + b)[:, 0]


def energy(positions, pairs, mask, params, box, cutoff):
    d = positions[pairs[:, 0]] - positions[pairs[:, 1]]
    d = d - box * jnp.round(d / box)
    r2 = jnp.where(mask, jnp.sum(d * d, -1), 4 * cutoff**2)
    s6 = 1.0 / jnp.maximum(r2, 0.64) ** 3
    inside = r2 < cutoff**2
    return jnp.sum(jnp.where(inside, 4 * (s6 * s6 - s6) + 0.01 * mlp(params, jnp.sqrt(r2)), 0.0))


@jax.jit
def verlet(positions, velocities, pairs, mask, params, box, cutoff, dt):
    force = lambda p: -jax.grad(energy)(p, pairs, mask, params, box, cutoff)
    half = velocities + 0.5 * dt * force(positions)
    positions = positions + dt * half
    velocities = half + 0.5 * dt * force(positions)
    return positions, velocities, 0.5 * jnp.mean(jnp.sum(velocities**2, -1))


def lattice(side, box, rng):
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3)
    return ((grid + 0.5) * box / side + 0.02 * rng.standard_normal(grid.shape)).astype("float32")


def main(clock):
    clock.plan(4, 6)
    rng = np.random.default_rng(0)
    side, cutoff, skin = 14, 2.0, 0.3
    box = np.float32(side * 1.1)
    positions = jnp.asarray(lattice(side, box, rng))
    velocities = jnp.asarray(0.5 * rng.standard_normal(positions.shape), jnp.float32)
    sizes = [1, 16, 16, 1]
    params = [
        (jnp.asarray(rng.standard_normal((a, b)) / a**0.5, jnp.float32), jnp.zeros(b)) for a, b in zip(sizes, sizes[1:])
    ]
    near = NeighbourList(box, cutoff, skin, 64000, every=20 if clock.fixed else 1)
    kinetic = []
    for step in clock.loop(lambda: positions):
        with clock.mark(step, "verlet"):
            pairs, mask = near.update(positions)
            positions, velocities, k = verlet(positions, velocities, pairs, mask, params, box, cutoff, 1e-3)
            kinetic.append(k)
    print("temperature", float(kinetic[-1]) * 2 / 3)


if __name__ == "__main__":
    run(main)
