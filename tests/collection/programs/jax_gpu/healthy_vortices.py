"""Two-dimensional turbulence by Fourier series: four Runge-Kutta steps per compiled call."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

GPU = jax.default_backend() == "gpu"
SIDE = 2048 if GPU else 96
VISCOSITY, STEP = 1e-5, 5e-4


def waves():
    kx = jnp.fft.fftfreq(SIDE, 1 / SIDE)[:, None]
    ky = jnp.fft.rfftfreq(SIDE, 1 / SIDE)[None]
    square = kx**2 + ky**2
    keeps = (jnp.abs(kx) < SIDE / 3) & (ky < SIDE / 3)
    return kx, ky, square, jnp.where(square > 0, 1 / jnp.maximum(square, 1), 0), keeps


def advection(vorticity, wave):
    kx, ky, square, inverse, keeps = wave
    stream = vorticity * inverse
    there = lambda field: jnp.fft.irfft2(field, s=(SIDE, SIDE))
    u, v = there(1j * ky * stream), there(-1j * kx * stream)
    moved = u * there(1j * kx * vorticity) + v * there(1j * ky * vorticity)
    return jnp.where(keeps, -jnp.fft.rfft2(moved), 0) - VISCOSITY * square * vorticity


@partial(jax.jit, donate_argnums=0)
def advance(vorticity, wave):
    def runge_kutta(w, _):
        k1 = advection(w, wave)
        k2 = advection(w + 0.5 * STEP * k1, wave)
        k3 = advection(w + 0.5 * STEP * k2, wave)
        k4 = advection(w + STEP * k3, wave)
        return w + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return jax.lax.scan(runge_kutta, vorticity, None, length=4)[0]


def main(clock):
    clock.plan(3, 6)
    wave = jax.jit(waves)()
    noise = jax.random.normal(jax.random.PRNGKey(0), (SIDE, SIDE))
    square = wave[2]
    vorticity = SIDE / 4 * jnp.fft.rfft2(noise) * jnp.exp(-((jnp.sqrt(square) - 12) ** 2) / 20)
    for step in clock.loop(lambda: vorticity):
        with clock.mark(step, "advance"):
            vorticity = advance(vorticity, wave)


if __name__ == "__main__":
    run(main)
