"""A neural field of a volume: an MLP on Fourier features of points drawn from a fixed grid."""
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "grid and volume are NumPy arrays and an argument of the compiled step: they go to the device at each call",
    "cause": "copies to the device",
    "accept": ["host-copies", "device-copies", "python-bound", "idle-device", "input-bound"],
    "rules": ["host-copies", "device-copies", "python-bound", "idle-device", "input-bound"],
    "words": ["fit_points", "device_put", "MemcpyH2D", "Volume"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
SIDE, POINTS, WIDTH = (160, 131072, 256) if GPU else (128, 256, 32)


class Field(eqx.Module):
    frequencies: jax.Array
    net: eqx.nn.MLP

    def __init__(self, key):
        a, b = jax.random.split(key)
        self.frequencies = 8.0 * jax.random.normal(a, (3, 64))
        self.net = eqx.nn.MLP(128, "scalar", WIDTH, 4, activation=jax.nn.silu, key=b)

    def __call__(self, point):
        angle = point @ jax.lax.stop_gradient(self.frequencies)
        return self.net(jnp.concatenate([jnp.sin(angle), jnp.cos(angle)]))


class Volume:
    def __init__(self, on_device):
        axis = np.linspace(-1, 1, SIDE, dtype=np.float32)
        self.grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
        self.values = np.exp(-4 * (self.grid**2).sum(-1)) * np.cos(9 * self.grid[:, 0])
        if on_device:
            self.grid, self.values = jnp.asarray(self.grid), jnp.asarray(self.values)


adam = optax.adam(1e-3)


@eqx.filter_jit
def fit_points(field, state, key, grid, values):
    key, sub = jax.random.split(key)
    chosen = jax.random.randint(sub, (POINTS,), 0, grid.shape[0])

    @eqx.filter_value_and_grad
    def loss_fn(field):
        return jnp.mean((jax.vmap(field)(grid[chosen]) - values[chosen]) ** 2)

    loss, grads = loss_fn(field)
    updates, state = adam.update(grads, state)
    return eqx.apply_updates(field, updates), state, key, loss


def main(clock):
    clock.plan(3, 6)
    key = jax.random.PRNGKey(0)
    field = Field(key)
    state = adam.init(eqx.filter(field, eqx.is_inexact_array))
    volume = Volume(on_device=clock.fixed)
    loss = jnp.zeros(())
    for step in clock.loop(lambda: loss):
        with clock.mark(step, "fit"):
            field, state, key, loss = fit_points(field, state, key, volume.grid, volume.values)  # planted


if __name__ == "__main__":
    run(main)
