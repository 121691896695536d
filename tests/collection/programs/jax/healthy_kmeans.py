import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


@jax.jit
def lloyd(points, centres):
    owner = jnp.argmin((centres**2).sum(1)[None] - 2 * points @ centres.T, axis=1)
    one_hot = jax.nn.one_hot(owner, len(centres))
    return (one_hot.T @ points) / jnp.maximum(one_hot.sum(0), 1)[:, None]


def main(clock):
    clock.plan(3, 8)
    points = jax.random.normal(jax.random.PRNGKey(0), (100_000, 32))
    centres = points[:64]
    for step in clock.loop(lambda: centres):
        with clock.mark(step, "iteration"):
            centres = lloyd(points, centres)
            centres.block_until_ready()


if __name__ == "__main__":
    run(main)
