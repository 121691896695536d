"""Registers two brain volumes: gradient ascent on their mutual information by six parameters."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
from jax.scipy.ndimage import map_coordinates

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the joint histogram is a scatter-add of millions of voxels onto a thousand bins, most of them onto the one of the background",
    "cause": "updates of the same few addresses",
    "accept": ["dominant-op", "largest-part", "roofline-gap"],
    "rules": [],
    "words": ["scatter", "joint_histogram", "scatter-add"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
SIDE, BINS = (160, 32) if GPU else (32, 32)
CHUNK = 4096


def joint_histogram(fixed_bin, moving):
    low = jnp.clip(jnp.floor(moving), 0, BINS - 2)
    share = moving - low
    low = low.astype(jnp.int32)
    histogram = jnp.zeros((BINS, BINS))
    histogram = histogram.at[fixed_bin, low].add(1 - share)  # planted
    return histogram.at[fixed_bin, low + 1].add(share)  # planted


def histogram_by_products(fixed_bin, moving):
    rows = jax.nn.one_hot(fixed_bin.reshape(-1, CHUNK), BINS)
    hats = jnp.maximum(0, 1 - jnp.abs(moving.reshape(-1, CHUNK, 1) - jnp.arange(BINS)))
    return jnp.einsum("cnf,cnm->cfm", rows, hats).sum(0)


def rotated(pose, points):
    a, b, c = pose[:3]
    rx = jnp.array([[1, 0, 0], [0, jnp.cos(a), -jnp.sin(a)], [0, jnp.sin(a), jnp.cos(a)]])
    ry = jnp.array([[jnp.cos(b), 0, jnp.sin(b)], [0, 1, 0], [-jnp.sin(b), 0, jnp.cos(b)]])
    rz = jnp.array([[jnp.cos(c), -jnp.sin(c), 0], [jnp.sin(c), jnp.cos(c), 0], [0, 0, 1]])
    return (rz @ ry @ rx) @ points + SIDE / 2 + pose[3:, None]


def information(pose, fixed_bin, moving_volume, points, by_products):
    moving = map_coordinates(moving_volume, list(rotated(pose, points)), order=1, mode="constant")
    moving = jnp.clip(moving, 0.0, 1.0) * (BINS - 1)
    count = histogram_by_products if by_products else joint_histogram
    p = count(fixed_bin, moving) / fixed_bin.size + 1e-9
    outer = p.sum(0, keepdims=True) * p.sum(1, keepdims=True)
    return jnp.sum(p * jnp.log(p / outer))


@partial(jax.jit, static_argnames="by_products")
def climb(pose, fixed_bin, moving_volume, points, by_products):
    value, slope = jax.value_and_grad(information)(pose, fixed_bin, moving_volume, points, by_products)
    return pose + 1e-2 * slope / (jnp.linalg.norm(slope) + 1e-9), value


@partial(jax.jit, static_argnames="seed")
def head(points, seed):
    radius = jnp.sqrt(jnp.sum((points / SIDE) ** 2 * jnp.array([[1.0], [1.3], [0.9]]), 0))
    folds = 0.3 * jnp.sin(points[0] / 5 + seed) * jnp.cos(points[1] / 7) * jnp.sin(points[2] / 6)
    return jnp.where(radius < 0.36, 0.5 + folds, 0.0) + jnp.where(jnp.abs(radius - 0.4) < 0.02, 0.9, 0.0)


def main(clock):
    clock.plan(3, 6)
    axis = jnp.arange(SIDE) - SIDE / 2
    points = jnp.stack(jnp.meshgrid(axis, axis, axis, indexing="ij")).reshape(3, -1)
    fixed_bin = (head(points, 0) * (BINS - 1)).astype(jnp.int32)
    moving_volume = head(points, 1).reshape(SIDE, SIDE, SIDE)
    pose = jnp.array([0.05, -0.03, 0.02, 1.0, -2.0, 0.5])
    for step in clock.loop(lambda: pose):
        with clock.mark(step, "climb"):
            pose, value = climb(pose, fixed_bin, moving_volume, points, by_products=clock.fixed)


if __name__ == "__main__":
    run(main)
