import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "batches of a new length in every step, compiled again each time",
    "cause": "recompilation",
    "accept": ["recompilation", "retracing"],
    "rules": ["recompilation", "retracing"],
    "words": ["train_step", "compil", "Compil"],
    "part": "develop",
}


@jax.jit
def train_step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)
    return w - 0.1 * grad, loss


def main(clock):
    clock.plan(2, 4)
    rng = np.random.default_rng(0)
    w = jnp.asarray(rng.normal(size=(64, 64)).astype("float32") * 0.1)
    lengths = rng.permutation(np.arange(40, 2000))
    if not clock.fixed:
        jax.clear_caches()
    for step in clock.loop(lambda: w):
        length = 512 if clock.fixed else int(lengths[step])
        batch = rng.normal(size=(length, 64)).astype("float32")
        with clock.mark(step):
            w, loss = train_step(w, batch)  # planted


if __name__ == "__main__":
    run(main)
