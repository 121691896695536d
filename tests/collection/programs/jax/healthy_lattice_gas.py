"""Flow past a cylinder by lattice Boltzmann, whole blocks of steps in one scan."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "score"}

NX, NY, SUBSTEPS = 192, 80, 20
C = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
OPPOSITE = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
W = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, np.float32)


def equilibrium(rho, ux, uy):
    speed = 1.5 * (ux**2 + uy**2)
    out = []
    for (cx, cy), w in zip(C, W):
        along = 3 * (cx * ux + cy * uy)
        out.append(w * rho * (1 + along + 0.5 * along**2 - speed))
    return jnp.stack(out)


@jax.jit
def advance(f, solid):
    def one(f, _):
        f = jnp.stack([jnp.roll(plane, c, (0, 1)) for plane, c in zip(f, C)])
        bounced = f[OPPOSITE]
        rho = f.sum(0)
        ux = sum(c[0] * plane for c, plane in zip(C, f)) / rho
        uy = sum(c[1] * plane for c, plane in zip(C, f)) / rho
        relaxed = f + (equilibrium(rho, ux, uy) - f) / 0.6
        return jnp.where(solid, bounced, relaxed), None

    f, _ = jax.lax.scan(one, f, None, length=SUBSTEPS)
    return f, f.sum()


def main(clock):
    clock.plan(3, 4)
    x, y = np.mgrid[:NX, :NY]
    solid = jnp.asarray((x - 40) ** 2 + (y - NY // 2) ** 2 < 81)
    f = equilibrium(jnp.ones((NX, NY)), jnp.full((NX, NY), 0.08), jnp.zeros((NX, NY)))
    masses = []
    for step in clock.loop(lambda: f):
        with clock.mark(step, "block"):
            f, mass = advance(f, solid)
            masses.append(float(mass))


if __name__ == "__main__":
    run(main)
