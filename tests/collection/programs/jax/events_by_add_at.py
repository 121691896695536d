"""Steering from an event camera: events of a moment become a grid of time, place and sign."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "events are added to the grid by np.add.at, one by one, where np.bincount adds them in one go",
    "cause": "input",
    "accept": ["largest-part", "input-bound", "python-bound", "python-in-pipeline", "host-input-limit"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline", "host-input-limit"],
    "words": ["voxel_grid", "add.at", "ufunc.at", "np.add"],
    "part": "develop",
}

BINS, SIDE, EVENTS, BATCH = 5, 48, 30_000, 8


def make_recording(rng, count):
    events = np.empty(count, [("t", "f4"), ("x", "i2"), ("y", "i2"), ("p", "i1")])
    events["t"] = np.sort(rng.random(count))
    events["x"], events["y"] = rng.integers(0, SIDE, (2, count))
    events["p"] = 2 * rng.integers(0, 2, count) - 1
    return events


def voxel_grid(events, by_bincount):
    t = (events["t"] - events["t"][0]) / (events["t"][-1] - events["t"][0] + 1e-9)
    bins = np.minimum((t * BINS).astype(int), BINS - 1)
    shape = (BINS, SIDE, SIDE)
    if by_bincount:
        places = np.ravel_multi_index((bins, events["y"], events["x"]), shape)
        return np.bincount(places, events["p"], BINS * SIDE * SIDE).reshape(shape).astype("float32")
    grid = np.zeros(shape, "float32")
    np.add.at(grid, (bins, events["y"], events["x"]), events["p"])  # planted
    return grid


def moments(recording, angles, by_bincount):
    rng = np.random.default_rng(1)
    while True:
        starts = rng.integers(0, len(recording) - EVENTS, BATCH)
        yield np.stack([voxel_grid(recording[s : s + EVENTS], by_bincount) for s in starts]), angles[starts]


def init(key):
    k = jax.random.split(key, 3)
    normal = lambda key, *shape: jax.random.normal(key, shape) / np.prod(shape[:-1]) ** 0.5
    return {"w1": normal(k[0], BINS * 64, 256), "w2": normal(k[1], 36 * 256, 128), "w3": normal(k[2], 128, 1)}


def steer(params, grid):
    patches = grid.reshape(-1, BINS, 6, 8, 6, 8).transpose(0, 2, 4, 1, 3, 5).reshape(len(grid), 36, -1)
    h = jax.nn.relu(patches @ params["w1"]).reshape(len(grid), -1)
    return jnp.tanh(jax.nn.relu(h @ params["w2"]) @ params["w3"])[:, 0]


@jax.jit
def train_step(params, grid, angle):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((steer(p, grid) - angle) ** 2))(params)
    return jax.tree_util.tree_map(lambda p, g: p - 1e-3 * g, params, grads), loss


def main(clock):
    clock.plan(4, 5)
    rng = np.random.default_rng(0)
    recording = make_recording(rng, 400_000)
    angles = rng.uniform(-1, 1, len(recording)).astype("float32")
    data = moments(recording, angles, by_bincount=clock.fixed)
    params = init(jax.random.PRNGKey(0))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = train_step(params, *next(data))


if __name__ == "__main__":
    run(main)
