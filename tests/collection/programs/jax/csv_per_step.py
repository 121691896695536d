import csv
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every step reads and parses its batch from a CSV file",
    "cause": "files read in the loop",
    "accept": ["python-bound", "file-reads", "input-bound"],
    "rules": ["python-bound", "file-reads", "input-bound"],
    "words": ["read_batch"],
    "part": "develop",
}


def read_batch(path):
    with open(path) as file:
        rows = [[float(cell) for cell in row] for row in csv.reader(file)]  # planted
    return np.array(rows, np.float32)


@jax.jit
def update(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)


def main(clock):
    clock.plan(3, 6)
    rng = np.random.default_rng(0)
    data = rng.normal(size=(256, 64)).astype(np.float32)
    path = Path(clock.folder) / "batch.csv"
    np.savetxt(path, data, delimiter=",")
    w = jnp.eye(64)
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            x = data if clock.fixed else read_batch(path)
            w = update(w, x)


if __name__ == "__main__":
    run(main)
