"""Smoke in a periodic box with a learned closure."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the pressure of a periodic box is found by 100 Jacobi sweeps, where one Fourier transform solves it",
    "cause": "algorithm",
    "accept": ["largest-part", "dominant-op", "graph-loop", "tiny-ops"],
    "rules": ["dominant-op", "graph-loop", "tiny-ops"],
    "words": ["pressure", "jacobi", "while", "roll", "sweep"],
    "part": "develop",
}

GRID, SWEEPS, CHANNELS, DT = 128, 100, 16, 0.05


def ddx(f, axis):
    return 0.5 * (jnp.roll(f, -1, axis) - jnp.roll(f, 1, axis))


def jacobi(divergence):
    def sweep(_, p):
        around = jnp.roll(p, 1, 0) + jnp.roll(p, -1, 0) + jnp.roll(p, 1, 1) + jnp.roll(p, -1, 1)
        return 0.25 * (around - divergence)  # planted

    return jax.lax.fori_loop(0, SWEEPS, sweep, jnp.zeros_like(divergence))  # planted


def spectral(divergence):
    kx = 2 * jnp.pi * jnp.fft.fftfreq(GRID)[:, None]
    ky = 2 * jnp.pi * jnp.fft.rfftfreq(GRID)[None, :]
    symbol = 2 * jnp.cos(kx) + 2 * jnp.cos(ky) - 4
    symbol = symbol.at[0, 0].set(1.0)
    return jnp.fft.irfft2(jnp.fft.rfft2(divergence).at[0, 0].set(0) / symbol, (GRID, GRID))


def pressure(divergence, by_fft):
    return spectral(divergence) if by_fft else jacobi(divergence)


def closure(params, u):
    return jnp.tanh(u @ params["a"]) @ params["b"]


@partial(jax.jit, static_argnames=("by_fft",))
def advance(params, u, smoke, by_fft):
    push = jnp.stack([jnp.zeros_like(smoke), 0.1 * smoke], -1)
    advected = jnp.stack([u[..., 0] * ddx(u[..., i], 0) + u[..., 1] * ddx(u[..., i], 1) for i in range(2)], -1)
    u = u + DT * (push - advected + 0.01 * closure(params, u))
    p = pressure(ddx(u[..., 0], 0) + ddx(u[..., 1], 1), by_fft)
    u = u - jnp.stack([ddx(p, 0), ddx(p, 1)], -1)
    smoke = smoke - DT * (u[..., 0] * ddx(smoke, 0) + u[..., 1] * ddx(smoke, 1))
    return u, smoke


def main(clock):
    clock.plan(4, 3)
    rng = np.random.default_rng(0)
    params = {
        "a": jnp.asarray(0.1 * rng.standard_normal((2, CHANNELS)), jnp.float32),
        "b": jnp.asarray(0.1 * rng.standard_normal((CHANNELS, 2)), jnp.float32),
    }
    u = jnp.asarray(0.1 * rng.standard_normal((GRID, GRID, 2)), jnp.float32)
    smoke = jnp.zeros((GRID, GRID)).at[50:70, 50:70].set(1.0)
    for step in clock.loop(lambda: smoke):
        with clock.mark(step, "advance"):
            u, smoke = advance(params, u, smoke, by_fft=clock.fixed)


if __name__ == "__main__":
    run(main)
