"""Shallow water on the sphere: a spectral model steps vorticity through Legendre transforms."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the associated Legendre functions of the same latitudes are computed by their recursion again in every time step",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["associated_legendre"],
    "part": "develop",
}

TRUNCATION, LATITUDES, LONGITUDES, LEVELS = 128, 192, 400, 1


def associated_legendre(mu):
    """Normalised P of all orders and degrees: (degree, order, latitude)."""
    m = jnp.arange(TRUNCATION, dtype=jnp.float32)[:, None]
    log_sectoral = jnp.cumsum(0.5 * jnp.log1p(0.5 / jnp.maximum(m, 1)), 0)
    sectoral = jnp.exp(log_sectoral + 0.5 * m * jnp.log1p(-mu**2))

    def next_degree(carry, n):
        two_before, before = carry
        a = jnp.sqrt(jnp.maximum(4 * n**2 - 1, 0) / jnp.maximum(n**2 - m**2, 1))
        b = jnp.sqrt(jnp.maximum((n - 1) ** 2 - m**2, 0) / jnp.maximum(4 * (n - 1) ** 2 - 1, 1))
        this = a * (mu * before - b * two_before)
        this = jnp.where(m == n, sectoral, jnp.where(m > n, 0.0, this))
        return (before, this), this

    zero = jnp.zeros((TRUNCATION, len(mu)))
    return jax.lax.scan(next_degree, (zero, zero), jnp.arange(TRUNCATION, dtype=jnp.float32))[1]  # planted


def analyse(grid, basis, weights):
    fourier = jnp.fft.rfft(grid, axis=-1)[..., :TRUNCATION] / LONGITUDES
    parts = jnp.stack([fourier.real, fourier.imag]) * weights[:, None]
    real, imag = jnp.einsum("nmj,pljm->plnm", basis, parts)
    return real + 1j * imag


def synthesise(spectrum, basis):
    real, imag = jnp.einsum("nmj,plnm->pljm", basis, jnp.stack([spectrum.real, spectrum.imag]))
    fourier = real + 1j * imag
    fourier = jnp.pad(fourier, ((0, 0), (0, 0), (0, LONGITUDES // 2 + 1 - TRUNCATION)))
    return jnp.fft.irfft(fourier * LONGITUDES, LONGITUDES)


@jax.jit
def step_vorticity(vorticity, mu, weights, basis):
    if basis is None:
        basis = associated_legendre(mu)
    n = jnp.arange(TRUNCATION)[:, None]
    spectrum = analyse(vorticity, basis, weights)
    damped = spectrum / (1 + 1e-7 * (n * (n + 1.0)) ** 2)
    stream = jnp.where(n > 0, -damped / jnp.maximum(n * (n + 1.0), 1), 0)
    zonal = synthesise(stream * 1j * jnp.arange(TRUNCATION), basis)
    return synthesise(damped, basis) - 0.01 * jnp.tanh(zonal)


def main(clock):
    clock.plan(4, 3)
    mu, weights = np.polynomial.legendre.leggauss(LATITUDES)
    mu, weights = jnp.asarray(mu, jnp.float32), jnp.asarray(weights, jnp.float32)
    basis = jax.jit(associated_legendre)(mu) if clock.fixed else None
    vorticity = 1e-2 * jax.random.normal(jax.random.PRNGKey(0), (LEVELS, LATITUDES, LONGITUDES))
    for step in clock.loop(lambda: vorticity):
        with clock.mark(step, "time step"):
            vorticity = step_vorticity(vorticity, mu, weights, basis)


if __name__ == "__main__":
    run(main)
