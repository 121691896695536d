"""Differentiable reverb: an impulse response is learned from dry and wet recordings."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "jnp.convolve goes over 1024 taps directly, for sound and gradient; by FFT it is a fraction",
    "cause": "a costly way to compute the same",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["wet_directly", "convolve", "conv_general_dilated", "convolution"],
    "part": "score",
}

RATE, TAPS, SECOND = 8000, 1024, 8000


def decay(params):
    t = jnp.arange(TAPS) / RATE
    return params["taps"] * jnp.exp(-t * jax.nn.softplus(params["decay"])) * (t > 0)


def wet_directly(dry, response):
    return jax.vmap(lambda one: jnp.convolve(one, response)[:SECOND])(dry)  # planted


def wet_by_fft(dry, response):
    size = 16384
    spectrum = jnp.fft.rfft(dry, size) * jnp.fft.rfft(response, size)
    return jnp.fft.irfft(spectrum, size)[:, :SECOND]


def spectral_loss(a, b):
    total = 0.0
    for n in (256, 512):
        window = jnp.hanning(n)
        frames = [x[:, : SECOND // n * n].reshape(len(x), -1, n) * window for x in (a, b)]
        a_mag, b_mag = (jnp.abs(jnp.fft.rfft(f)) for f in frames)
        total = total + jnp.abs(a_mag - b_mag).mean() + jnp.abs(jnp.log1p(a_mag) - jnp.log1p(b_mag)).mean()
    return total


def make_step(wet):
    def loss_fn(params, dry, target):
        return spectral_loss(dry + params["mix"] * wet(dry, decay(params)), target)

    @jax.jit
    def step(params, dry, target):
        loss, grads = jax.value_and_grad(loss_fn)(params, dry, target)
        return {k: v - 1e-3 * grads[k] for k, v in params.items()}, loss

    return step


def main(clock):
    clock.plan(2, 4)
    rng = np.random.default_rng(0)
    params = {"taps": jnp.asarray(rng.normal(0, 0.02, TAPS), jnp.float32), "decay": jnp.float32(4.0), "mix": jnp.float32(0.3)}
    step_fn = make_step(wet_by_fft if clock.fixed else wet_directly)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            dry = jnp.asarray(rng.normal(size=(2, SECOND)), jnp.float32)
            params, loss = step_fn(params, dry, dry)
            float(loss)


if __name__ == "__main__":
    run(main)
