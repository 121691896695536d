"""Computer-generated holograms: a phase mask that shows another picture at each depth."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the spectrum of the same mask, padded, is taken again for each plane of depth, and the transfer function with it",
    "cause": "the same computed several times",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["propagate", "spectrum", "fft"],
    "part": "score",
}

N, PITCH, WAVE = 160, 8e-6, 520e-9
PLANES = (0.02, 0.024, 0.028, 0.032, 0.036)


def transfer(z):
    f = jnp.fft.fftfreq(2 * N, PITCH)
    root = jnp.sqrt(jnp.maximum(0.0, 1 / WAVE**2 - f[:, None] ** 2 - f[None] ** 2))
    return jnp.exp(2j * jnp.pi * z * root)


def spectrum(phase):
    return jnp.fft.fft2(jnp.pad(jnp.exp(1j * phase), ((N // 2, N // 2),) * 2))


@jax.jit
def propagate(phase, z):
    field = jnp.fft.ifft2(spectrum(phase) * transfer(z))  # planted
    return jnp.abs(field[N // 2 : -N // 2, N // 2 : -N // 2])


@jax.jit
def focus(wide, kernel):
    field = jnp.fft.ifft2(wide * kernel)
    return jnp.abs(field[N // 2 : -N // 2, N // 2 : -N // 2])


to_spectrum = jax.jit(spectrum)


class Hologram:
    def __init__(self, pictures, shared):
        self.pictures, self.shared = pictures, shared
        self.kernels = [jax.jit(transfer)(z) for z in PLANES]

    def planes(self, phase):
        if self.shared:
            wide = to_spectrum(phase)
            return [focus(wide, kernel) for kernel in self.kernels]
        return [propagate(phase, z) for z in PLANES]  # planted

    def loss(self, phase):
        return sum(jnp.mean((seen - wanted) ** 2) for seen, wanted in zip(self.planes(phase), self.pictures))


def main(clock):
    clock.plan(2, 3)
    rng = np.random.default_rng(0)
    hologram = Hologram([jnp.asarray(rng.random((N, N)), jnp.float32) for _ in PLANES], clock.fixed)
    phase = jnp.asarray(rng.uniform(0, 6.28, (N, N)), jnp.float32)
    descend = jax.value_and_grad(hologram.loss)
    for step in clock.loop(lambda: phase):
        with clock.mark(step, "iterate"):
            loss, slope = descend(phase)
            phase = phase - 2e3 * slope
            phase.block_until_ready()


if __name__ == "__main__":
    run(main)
