"""Brownian dynamics of bead-spring polymers, trajectory on disk."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each frame of the trajectory is written as text by np.savetxt, number by number",
    "cause": "output as text",
    "accept": ["largest-part", "python-bound", "idle-device", "print-every-step"],
    "rules": ["python-bound", "idle-device", "print-every-step"],
    "words": ["savetxt", "write_frame", "write_xyz"],
    "part": "develop",
}

CHAINS, BEADS, DT = 40, 100, 2e-4


def energy(beads):
    bond = beads[:, 1:] - beads[:, :-1]
    length = jnp.sqrt((bond**2).sum(-1) + 1e-9)
    turn = bond[:, 1:] - bond[:, :-1]
    confined = jnp.maximum(jnp.abs(beads) - 20.0, 0.0)
    return 50.0 * ((length - 1.0) ** 2).sum() + 2.0 * (turn**2).sum() + (confined**2).sum()


@partial(jax.jit, static_argnames="inner")
def integrate(key, beads, inner):
    def kick(beads, key):
        noise = jax.random.normal(key, beads.shape)
        return beads - DT * jax.grad(energy)(beads) + (2 * DT) ** 0.5 * noise, None

    beads, _ = jax.lax.scan(kick, beads, jax.random.split(key, inner))
    centre = beads.mean(1, keepdims=True)
    return beads, jnp.sqrt(((beads - centre) ** 2).sum(-1).mean(1)), energy(beads)


def write_xyz(file, step, beads):
    file.write(f"{CHAINS * BEADS}\nframe {step}\n".encode())
    np.savetxt(file, beads.reshape(-1, 3), fmt="%.8f")  # planted


def write_binary(file, step, beads):
    np.save(file, beads.reshape(-1, 3))


def main(clock):
    clock.plan(3, 3)
    key = jax.random.PRNGKey(0)
    beads = jnp.cumsum(jax.random.normal(key, (CHAINS, BEADS, 3)) * 3**-0.5, 1)
    write_frame = write_binary if clock.fixed else write_xyz
    with open(Path(clock.folder) / "trajectory.xyz", "wb") as file:
        for step in clock.loop():
            with clock.mark(step, "frame"):
                beads, gyration, _ = integrate(jax.random.fold_in(key, step), beads, inner=8)
                write_frame(file, step, np.asarray(beads))  # planted


if __name__ == "__main__":
    run(main)
