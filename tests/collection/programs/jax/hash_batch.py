import hashlib
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every batch is hashed to find it again in a cache",
    "cause": "hashing on the host",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["fingerprint", "sha256", "hexdigest"],
    "part": "develop",
}


def fingerprint(batch):
    return hashlib.sha256(batch.tobytes()).hexdigest()  # planted


@jax.jit
def update(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)


def main(clock):
    clock.plan(3, 8)
    batch = np.random.default_rng(0).normal(size=(8192, 64)).astype(np.float32)
    w = jnp.eye(64)
    seen = {}
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            if not clock.fixed:
                seen[fingerprint(batch)] = step
            w = update(w, batch[:512])


if __name__ == "__main__":
    run(main)
