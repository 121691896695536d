import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a filter of three pixels goes through Fourier transforms of the whole image",
    "cause": "an algorithm that does more than it must",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["diffuse", "fft"],
    "family": "fft",
    "part": "develop",
}

N = 768
KERNEL = jnp.zeros((N, N)).at[0, 0].set(-1.0).at[0, 1].set(0.2).at[1, 0].set(0.2).at[0, -1].set(0.2).at[-1, 0].set(0.2)
KERNEL = KERNEL.at[1, 1].set(0.05).at[1, -1].set(0.05).at[-1, 1].set(0.05).at[-1, -1].set(0.05)


def diffuse(u):
    return jnp.real(jnp.fft.ifft2(jnp.fft.fft2(u) * jnp.fft.fft2(KERNEL)))  # planted


def diffuse_by_shifts(u):
    sides = sum(jnp.roll(u, s, a) for s in (1, -1) for a in (0, 1))
    corners = sum(jnp.roll(jnp.roll(u, s, 0), t, 1) for s in (1, -1) for t in (1, -1))
    return 0.2 * sides + 0.05 * corners - u


def main(clock):
    clock.plan(3, 8)
    laplace = diffuse_by_shifts if clock.fixed else diffuse
    u, v = jnp.ones((N, N)), jnp.zeros((N, N)).at[180:200, 180:200].set(1.0)

    @jax.jit
    def gray_scott(u, v):
        reaction = u * v * v
        u = u + 0.16 * laplace(u) - reaction + 0.06 * (1 - u)
        v = v + 0.08 * laplace(v) + reaction - 0.122 * v
        return u, v

    for step in clock.loop(lambda: u):
        with clock.mark(step, "time step"):
            u, v = gray_scott(u, v)
            u.block_until_ready()


if __name__ == "__main__":
    run(main)
