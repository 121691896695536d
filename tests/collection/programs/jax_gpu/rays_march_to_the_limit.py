"""Fits the spheres of a scene to depth pictures: sphere tracing, then a gradient at the hits."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "rays that miss the scene never end: the loop of all rays runs to its limit of 120 iterations",
    "cause": "too many iterations",
    "accept": ["largest-part", "graph-loop", "tiny-kernels", "launch-bound"],
    "rules": ["graph-loop", "tiny-kernels", "launch-bound"],
    "words": ["march", "while"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
SIDE, SPHERES = (1024, 48) if GPU else (96, 12)
LIMIT, FAR = 120, 6.0


def distance(scene, point):
    apart = jnp.sqrt(jnp.sum((point - scene["centers"]) ** 2, -1) + 1e-9)
    return jnp.min(apart - scene["radii"])


def march(scene, origin, direction, give_up):
    def goes_on(state):
        depth, gap, count = state
        is_open = (gap > 2e-3) & (count < LIMIT)  # planted
        return is_open & (depth < FAR) if give_up else is_open

    def advance(state):
        depth, gap, count = state
        gap = distance(scene, origin + depth * direction)
        return depth + jnp.clip(gap, 0.01, 0.25), gap, count + 1

    return jax.lax.while_loop(goes_on, advance, (0.0, 1.0, 0))[0]


@partial(jax.jit, static_argnames="give_up")
def fit(scene, origins, directions, seen, give_up):
    frozen = jax.lax.stop_gradient(scene)
    depth = jax.vmap(lambda o, d: march(frozen, o, d, give_up))(origins, directions)
    is_hit = (depth < FAR).astype(jnp.float32)

    def loss_fn(scene):
        points = origins + depth[:, None] * directions
        gaps = jax.vmap(lambda p: distance(scene, p))(points)
        return jnp.sum(is_hit * (gaps + depth - seen) ** 2) / (1.0 + is_hit.sum())

    loss, grads = jax.value_and_grad(loss_fn)(scene)
    return jax.tree.map(lambda s, g: s - 1e-3 * g, scene, grads), loss


def camera():
    axis = jnp.linspace(-1.0, 1.0, SIDE)
    u, v = jnp.meshgrid(axis, axis)
    directions = jnp.stack([u, v, jnp.full_like(u, 1.5)], -1).reshape(-1, 3)
    directions = directions / jnp.linalg.norm(directions, axis=-1, keepdims=True)
    return jnp.zeros_like(directions).at[:, 2].set(-3.0), directions


def main(clock):
    clock.plan(3, 4)
    key = jax.random.PRNGKey(3)
    scene = {
        "centers": jax.random.normal(key, (SPHERES, 3)) * 0.5,
        "radii": 0.1 + 0.1 * jax.random.uniform(key, (SPHERES,)),
    }
    origins, directions = camera()
    seen = jnp.full(SIDE * SIDE, 2.8)
    for step in clock.loop(lambda: scene):
        with clock.mark(step, "fit"):
            scene, loss = fit(scene, origins, directions, seen, give_up=clock.fixed)


if __name__ == "__main__":
    run(main)
