"""A Fourier neural operator for flow through porous rock (Darcy)."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

SIZE, WIDTH, MODES, LAYERS, BATCH = 48, 24, 8, 3, 4


def init(key):
    keys = iter(jax.random.split(key, 3 * LAYERS + 3))
    normal = lambda *shape: jax.random.normal(next(keys), shape)
    layers = []
    for _ in range(LAYERS):
        spectral = normal(2, 2, MODES, MODES, WIDTH, WIDTH) / WIDTH
        layers.append({"spectral": spectral, "point": normal(WIDTH, WIDTH) * WIDTH**-0.5})
    return {"lift": normal(3, WIDTH) * 0.5, "layers": layers, "hidden": normal(WIDTH, 96) * WIDTH**-0.5, "out": normal(96, 1) * 0.1}


def spectral_conv(weights, x):
    low, high = jax.lax.complex(weights[0], weights[1])
    spectrum = jnp.fft.rfft2(x, axes=(1, 2))
    mix = lambda part, w: jnp.einsum("bxyi,xyio->bxyo", part, w)
    out = jnp.zeros_like(spectrum)
    out = out.at[:, :MODES, :MODES].set(mix(spectrum[:, :MODES, :MODES], low))
    out = out.at[:, -MODES:, :MODES].set(mix(spectrum[:, -MODES:, :MODES], high))
    return jnp.fft.irfft2(out, (SIZE, SIZE), axes=(1, 2))


def operator(params, a):
    place = jnp.linspace(0, 1, SIZE)
    grid = jnp.broadcast_to(jnp.stack(jnp.meshgrid(place, place), -1), (*a.shape[:3], 2))
    x = jnp.concatenate([a, grid], -1) @ params["lift"]
    for layer in params["layers"]:
        x = jax.nn.gelu(spectral_conv(layer["spectral"], x) + x @ layer["point"])
    return jax.nn.gelu(x @ params["hidden"]) @ params["out"]


def relative_error(params, a, u):
    difference = (operator(params, a) - u).reshape(len(a), -1)
    return jnp.mean(jnp.linalg.norm(difference, axis=1) / jnp.linalg.norm(u.reshape(len(u), -1), axis=1))


@jax.jit
def train_step(params, momentum, a, u):
    loss, grads = jax.value_and_grad(relative_error)(params, a, u)
    momentum = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, momentum, grads)
    return jax.tree_util.tree_map(lambda p, m: p - 1e-3 * m, params, momentum), momentum, loss


def main(clock):
    clock.plan(3, 4)
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    params = init(keys[0])
    momentum = jax.tree_util.tree_map(jnp.zeros_like, params)
    rock = jax.random.normal(keys[1], (8, BATCH, SIZE, SIZE, 1))
    flow = jax.random.normal(keys[2], (8, BATCH, SIZE, SIZE, 1))
    loss = jnp.zeros(())
    for step in clock.loop(lambda: loss):
        with clock.mark(step):
            params, momentum, loss = train_step(params, momentum, rock[step % 8], flow[step % 8])


if __name__ == "__main__":
    run(main)
