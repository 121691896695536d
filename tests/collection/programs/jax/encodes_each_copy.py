import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a grasp planner repeats the one scan for every candidate before it is encoded",
    "cause": "the same computed for each copy",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["copies of the same"],
    "part": "develop",
}
CANDIDATES, POINTS, WIDTH = 48, 320, 64


def encode(params, scans):
    """What a cloud of points looks like, whatever their order."""
    rows = jnp.tanh(scans @ params["point"])
    rows = jnp.tanh(rows @ params["mix"])
    return rows.max(axis=1)


def quality(params, features, grasps):
    hidden = jnp.tanh(jnp.concatenate([features, grasps], axis=-1) @ params["score"])
    return (hidden @ params["out"])[:, 0]


def main(clock):
    clock.plan(4, 6)
    keys = jax.random.split(jax.random.PRNGKey(11), 7)
    shapes = {"point": (3, WIDTH), "mix": (WIDTH, 96), "score": (96 + 7, 128), "out": (128, 1)}
    params = {
        name: jax.random.normal(key, shape) / shape[0] ** 0.5
        for key, (name, shape) in zip(keys, shapes.items())
    }
    scan = jax.random.normal(keys[5], (POINTS, 3))
    is_fixed = clock.fixed

    @jax.jit
    def choose(params, scan, key):
        grasps = jax.random.normal(key, (CANDIDATES, 7))
        if is_fixed:
            features = jnp.repeat(encode(params, scan[None]), CANDIDATES, axis=0)
        else:
            scans = jnp.repeat(scan[None], CANDIDATES, axis=0)  # planted
            features = encode(params, scans)
        return grasps[jnp.argmax(quality(params, features, grasps))]

    for step in clock.loop():
        with clock.mark(step):
            scan = scan + 0.01 * choose(params, scan, jax.random.fold_in(keys[6], step))[:3]
            scan.block_until_ready()


if __name__ == "__main__":
    run(main)
