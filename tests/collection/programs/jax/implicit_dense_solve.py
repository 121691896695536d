import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each time step of the heat equation solves the same dense system from the start",
    "cause": "work whose result does not change",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["implicit_step", "solve", "getrf", "lu"],
    "family": "lu",
    "part": "develop",
}


@jax.jit
def implicit_step(matrix, u):
    return jnp.linalg.solve(matrix, u)  # planted


@jax.jit
def factored_step(factors, u):
    return jax.scipy.linalg.lu_solve(factors, u)


def main(clock):
    clock.plan(2, 3)
    n = 700
    laplace = jnp.diag(jnp.full(n, -2.0)) + jnp.diag(jnp.ones(n - 1), 1) + jnp.diag(jnp.ones(n - 1), -1)
    matrix = jnp.eye(n) - 0.1 * laplace
    factors = jax.scipy.linalg.lu_factor(matrix)
    u = jnp.sin(jnp.linspace(0, 3.14, n))
    for step in clock.loop(lambda: u):
        with clock.mark(step, "time step"):
            u = factored_step(factors, u) if clock.fixed else implicit_step(matrix, u)
            energy = float(jnp.sum(u**2))


if __name__ == "__main__":
    run(main)
