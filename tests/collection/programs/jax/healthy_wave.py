import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


@jax.jit
def advance(now, before):
    def leapfrog(state, _):
        now, before = state
        laplace = sum(jnp.roll(now, s, a) for s in (1, -1) for a in (0, 1)) - 4 * now
        return (2 * now - before + 0.1 * laplace, now), None

    return jax.lax.scan(leapfrog, (now, before), None, length=20)[0]


def main(clock):
    clock.plan(3, 8)
    x = jnp.linspace(-1, 1, 512)
    now = before = jnp.exp(-50 * (x[:, None] ** 2 + x[None] ** 2))
    for step in clock.loop(lambda: now):
        with clock.mark(step, "frame"):
            now, before = advance(now, before)
            now.block_until_ready()


if __name__ == "__main__":
    run(main)
