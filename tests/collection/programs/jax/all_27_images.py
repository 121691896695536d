"""Molecular dynamics of an ionic liquid in a periodic box: short forces and an Ewald sum."""
import sys
from functools import partial
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each pair's distance is taken to all 27 images of the neighbour, where rounding the offset finds the nearest",
    "cause": "an algorithm that does more than it must",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["squared_to_all_images"],
    "part": "develop",
}

SIDE, BOX, CUTOFF, DT = 4, 6.0, 2.5, 0.002
IMAGES = jnp.array(list(product((-1.0, 0.0, 1.0), repeat=3))) * BOX
WAVES = jnp.array([k for k in product(range(-6, 7), repeat=3) if any(k)]) * 2 * jnp.pi / BOX
CHARGES = jnp.where(jnp.arange(SIDE**3) % 2 == 0, 1.0, -1.0)


def squared_to_all_images(x):
    offsets = x[:, None] - x[None]
    squared = jnp.sum((offsets[:, :, None] + IMAGES) ** 2, -1)  # planted
    return jnp.min(squared, -1)  # planted


def squared_to_nearest(x):
    offsets = x[:, None] - x[None]
    return jnp.sum((offsets - BOX * jnp.round(offsets / BOX)) ** 2, -1)


def ewald(x):
    squared = jnp.sum(WAVES**2, -1)
    phases = WAVES @ x.T
    power = (jnp.cos(phases) @ CHARGES) ** 2 + (jnp.sin(phases) @ CHARGES) ** 2
    return 2 * jnp.pi / BOX**3 * jnp.sum(jnp.exp(-squared / 4) / squared * power)


def energy(x, nearest):
    squared = squared_to_nearest(x) if nearest else squared_to_all_images(x)
    pairs = (squared < CUTOFF**2) & ~jnp.eye(len(x), dtype=bool)
    inverse = jnp.where(pairs, 1 / jnp.where(pairs, squared, 1.0), 0.0) ** 3
    return 2 * jnp.sum(inverse**2 - inverse) + ewald(x)


@partial(jax.jit, static_argnames=("nearest", "steps"), donate_argnums=(0, 1))
def simulate(x, v, nearest, steps=2):
    force = jax.grad(lambda x: -energy(x, nearest))

    def verlet(state, _):
        x, v, f = state
        v = v + 0.5 * DT * f
        x = (x + DT * v) % BOX
        f = force(x)
        return (x, v + 0.5 * DT * f, f), None

    (x, v, _), _ = jax.lax.scan(verlet, (x, v, force(x)), None, steps)
    return x, v


def main(clock):
    clock.plan(5, 6)
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*[np.arange(SIDE)] * 3), -1).reshape(-1, 3) * BOX / SIDE
    x = jnp.asarray(grid + 0.05 * rng.standard_normal(grid.shape), jnp.float32)
    v = jnp.asarray(rng.standard_normal(grid.shape), jnp.float32)
    for step in clock.loop(lambda: (x, v)):
        with clock.mark(step, "block"):
            x, v = simulate(x, v, nearest=clock.fixed)


if __name__ == "__main__":
    run(main)
