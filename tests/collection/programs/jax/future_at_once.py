"""Lung nodules: 3-D patches turned and shifted on a pool of threads, a 3-D CNN in JAX."""
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import scipy.ndimage

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "patches are turned by cubic splines on the host, on a thread whose result the loop asks for at once",
    "cause": "input",
    "accept": ["largest-part", "input-bound", "host-input-limit", "python-bound", "idle-device", "missing-prefetch", "python-in-pipeline", "host-waits"],
    "rules": ["input-bound", "host-input-limit", "python-bound", "idle-device", "missing-prefetch", "python-in-pipeline", "host-waits"],
    "words": ["ndimage", "affine_transform", "spline_filter", "NoduleLoader"],
    "part": "develop",
}

OPTIONS = {"patch": 20, "batch": 12, "width": 6, "lr": 0.01, "max_angle": 0.4}


def rotation(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def augment(volume, rng, order):
    turn = rotation(rng.uniform(-OPTIONS["max_angle"], OPTIONS["max_angle"]))
    centre = np.array(volume.shape) / 2 - 0.5
    return scipy.ndimage.affine_transform(volume, turn, centre - turn @ centre, order=order)  # planted


class NoduleLoader:
    def __init__(self, volumes, labels, turned):
        self.volumes, self.labels, self.turned = volumes, labels, turned
        self.rng = np.random.default_rng(1)
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="augment")

    def make(self, rows):
        if not self.turned:
            flip = self.rng.integers(0, 2) * 2 - 1
            return self.volumes[rows][:, ::flip], self.labels[rows]
        return np.stack([augment(self.volumes[i], self.rng, order=3) for i in rows]), self.labels[rows]  # planted

    def __iter__(self):
        while True:
            rows = self.rng.integers(0, len(self.volumes), OPTIONS["batch"])
            future = self.pool.submit(self.make, rows)
            yield future.result()  # planted

    def close(self):
        self.pool.shutdown()


def conv(x, w, stride=1):
    dims = ("NDHWC", "DHWIO", "NDHWC")
    return jax.lax.conv_general_dilated(x, w, (stride,) * 3, "SAME", dimension_numbers=dims)


def init(key):
    a, b, c = jax.random.split(key, 3)
    w = OPTIONS["width"]
    return {
        "c1": jax.random.normal(a, (3, 3, 3, 1, w)) * 0.2,
        "c2": jax.random.normal(b, (3, 3, 3, w, w)) * 0.05,
        "out": jax.random.normal(c, (w, 2)) * 0.2,
    }


def loss_fn(p, x, y):
    h = jax.nn.relu(conv(x[..., None], p["c1"], 2))
    h = jax.nn.relu(conv(h, p["c2"], 2))
    logits = h.mean((1, 2, 3)) @ p["out"]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))


@jax.jit
def train_step(p, x, y):
    loss, g = jax.value_and_grad(loss_fn)(p, x, y)
    return jax.tree_util.tree_map(lambda a, b: a - OPTIONS["lr"] * b, p, g), loss


def main(clock):
    clock.plan(4, 6)
    rng = np.random.default_rng(0)
    volumes = rng.standard_normal((64,) + (OPTIONS["patch"],) * 3).astype("float32")
    labels = rng.integers(0, 2, 64)
    loader = NoduleLoader(volumes, labels, turned=not clock.fixed)
    batches = iter(loader)
    params = init(jax.random.PRNGKey(0))
    losses = [jnp.zeros(())]
    for step in clock.loop(lambda: losses[-1]):
        with clock.mark(step):
            params, loss = train_step(params, *next(batches))
            losses.append(loss)
    loader.close()
    print("loss", float(jnp.mean(jnp.stack(losses[1:]))))


if __name__ == "__main__":
    run(main)
