"""Blind deconvolution of seismic traces: a reflectivity net and a learned wavelet."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the wavelet of 48 samples is applied as a Toeplitz matrix of all samples by all samples, filled again in each step",
    "cause": "dense arithmetic on zeros",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["toeplitz", "wavelet_matrix", "convolved", "scatter", "gather"],
    "part": "develop",
}

SAMPLES, TAPS, TRACES, WIDTH = 1024, 48, 16, 24


def wavelet_matrix(wavelet):
    lag = jnp.arange(SAMPLES)[:, None] - jnp.arange(SAMPLES)[None, :]
    return jnp.where((lag >= 0) & (lag < TAPS), wavelet[jnp.clip(lag, 0, TAPS - 1)], 0.0)  # planted


def convolved(reflectivity, wavelet, as_matrix):
    if as_matrix:
        toeplitz = wavelet_matrix(wavelet)
        return reflectivity @ toeplitz.T  # planted
    padded = jnp.pad(reflectivity, ((0, 0), (TAPS - 1, 0)))
    shifted = jnp.stack([padded[:, TAPS - 1 - k : TAPS - 1 - k + SAMPLES] for k in range(TAPS)], -1)
    return shifted @ wavelet


def conv1d(x, w):
    return jax.lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))


def reflectivity_net(params, traces):
    x = traces[..., None]
    for w in params["convs"][:-1]:
        x = jax.nn.relu(conv1d(x, w))
    return conv1d(x, params["convs"][-1])[..., 0]


def make_update(as_matrix, lr=1e-3):
    def misfit(params, traces):
        r = reflectivity_net(params, traces)
        again = convolved(r, params["wavelet"], as_matrix)
        return jnp.mean((again - traces) ** 2) + 1e-3 * jnp.mean(jnp.abs(r))

    @jax.jit
    def update(params, traces):
        value, grads = jax.value_and_grad(misfit)(params, traces)
        return jax.tree_util.tree_map(lambda p, g: p - lr * g, params, grads), value

    return update


def main(clock):
    clock.plan(4, 5)
    rng = np.random.default_rng(0)
    t = np.arange(TAPS) - TAPS / 2
    ricker = (1 - (t / 5) ** 2) * np.exp(-0.5 * (t / 5) ** 2)
    spikes = rng.standard_normal((160, SAMPLES)) * (rng.random((160, SAMPLES)) < 0.05)
    data = np.stack([np.convolve(s, ricker)[:SAMPLES] for s in spikes]).astype("float32")
    sizes = [(9, 1, WIDTH), (9, WIDTH, WIDTH), (9, WIDTH, 1)]
    params = {
        "convs": [jnp.asarray(rng.standard_normal(s) * (s[0] * s[1]) ** -0.5, jnp.float32) for s in sizes],
        "wavelet": jnp.asarray(ricker + 0.1 * rng.standard_normal(TAPS), jnp.float32),
    }
    update = make_update(as_matrix=not clock.fixed)
    value = jnp.zeros(())
    for step in clock.loop(lambda: value):
        with clock.mark(step):
            at = step % 10 * TRACES
            params, value = update(params, data[at : at + TRACES])


if __name__ == "__main__":
    run(main)
