"""Turbulence in two dimensions: a pseudo-spectral solver of the vorticity equation (IMEX Runge-Kutta)."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "real fields go through complex Fourier transforms, which compute and keep both halves of a symmetric spectrum",
    "cause": "an algorithm that does more than it must",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["fft", "fft2", "ifft2", "advection"],
    "part": "develop",
}

N, NU, DT, INNER = 256, 1e-3, 2e-3, 2


class Complex:
    """Plain transforms."""

    forward = staticmethod(jnp.fft.fft2)
    kx = 1j * np.fft.fftfreq(N, 1 / N)

    @staticmethod
    def to_grid(spectrum):
        return jnp.fft.ifft2(spectrum).real  # planted


class Real:
    """Transforms of real fields: half of the spectrum."""

    forward = staticmethod(jnp.fft.rfft2)
    kx = 1j * np.fft.rfftfreq(N, 1 / N)

    @staticmethod
    def to_grid(spectrum):
        return jnp.fft.irfft2(spectrum, (N, N))


def make_grid(space):
    kx = jnp.asarray(space.kx, jnp.complex64)[None, :]
    ky = jnp.asarray(1j * np.fft.fftfreq(N, 1 / N), jnp.complex64)[:, None]
    laplace = (kx**2 + ky**2).real
    inverse = jnp.where(laplace == 0, 0.0, 1.0 / jnp.where(laplace == 0, 1.0, laplace))
    dealias = (jnp.abs(kx) < N / 3) & (jnp.abs(ky) < N / 3)
    return kx, ky, inverse, dealias, NU * laplace


def make_tendency(space):
    def advection(w, grid):
        kx, ky, inverse, dealias, _ = grid
        stream = -w * inverse
        u, v = space.to_grid(ky * stream), space.to_grid(-kx * stream)  # planted
        dx, dy = space.to_grid(kx * w), space.to_grid(ky * w)  # planted
        return dealias * space.forward(-(u * dx + v * dy))  # planted

    return advection


def make_step(space):
    advection = make_tendency(space)

    @jax.jit
    def step(w, grid):
        viscous = grid[-1]
        half = 1.0 / (1.0 - 0.5 * DT * viscous)

        def inner(w, _):
            first = advection(w, grid)
            guess = half * (w * (1 + 0.5 * DT * viscous) + DT * first)
            second = advection(guess, grid)
            return half * (w * (1 + 0.5 * DT * viscous) + 0.5 * DT * (first + second)), None

        w, _ = jax.lax.scan(inner, w, None, INNER)
        return w, jnp.mean(space.to_grid(w) ** 2)

    return step


def main(clock):
    clock.plan(3, 3)
    space = Real if clock.fixed else Complex
    field = np.random.default_rng(0).standard_normal((N, N)).astype("float32")
    w = space.forward(jnp.asarray(field)) * 0.2
    step_fn, grid = make_step(space), make_grid(space)
    enstrophy = jnp.zeros(())
    for step in clock.loop(lambda: enstrophy):
        with clock.mark(step):
            w, enstrophy = step_fn(w, grid)


if __name__ == "__main__":
    run(main)
