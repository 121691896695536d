import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "k-means takes the difference of every point and every centre in every dimension",
    "cause": "a huge intermediate",
    "accept": [],
    "rules": ["dominant-op"],
    "words": ["assign"],
    "part": "develop",
}


def assign(points, centres):
    return jnp.argmin(jnp.linalg.norm(points[:, None] - centres[None], axis=-1), axis=1)  # planted


def assign_by_product(points, centres):
    return jnp.argmin((centres**2).sum(1)[None] - 2 * points @ centres.T, axis=1)


def main(clock):
    clock.plan(3, 8)
    points = jax.random.normal(jax.random.PRNGKey(0), (20_000, 64))
    centres = points[:64]
    nearest = assign_by_product if clock.fixed else assign

    @jax.jit
    def lloyd(points, centres):
        owner = nearest(points, centres)
        total = jax.ops.segment_sum(points, owner, 64)
        count = jax.ops.segment_sum(jnp.ones(len(points)), owner, 64)
        return total / jnp.maximum(count, 1)[:, None]

    for step in clock.loop(lambda: centres):
        with clock.mark(step, "iteration"):
            centres = lloyd(points, centres)
            centres.block_until_ready()


if __name__ == "__main__":
    run(main)
