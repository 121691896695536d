"""Tomography by a prior net's output and projections: gradient descent with backtracking."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every trial of the line search computes the gradient with the objective and throws it away",
    "cause": "work done in vain",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["backtrack", "value_and_grad", "objective_and_gradient"],
    "part": "develop",
}

SIDE, RAYS = 48, 1400


def project_matrix(rng):
    a = rng.random((RAYS, SIDE * SIDE)).astype("float32")
    return jnp.asarray(a * (a > 0.8) / SIDE)


def objective(image, rays, seen, weight):
    x = image.reshape(SIDE, SIDE)
    smooth = jnp.sqrt(1e-4 + (x[1:, :-1] - x[:-1, :-1]) ** 2 + (x[:-1, 1:] - x[:-1, :-1]) ** 2)
    return 0.5 * jnp.sum((rays @ image - seen) ** 2) + weight * jnp.sum(smooth)


objective_only = jax.jit(objective)
objective_and_gradient = jax.jit(jax.value_and_grad(objective))


class Reconstruction:
    def __init__(self, rays, seen, trial_value_only):
        self.image = jnp.zeros(SIDE * SIDE)
        self.rays, self.seen, self.weight = rays, seen, 1e-3
        self.trial_value_only = trial_value_only

    def backtrack(self, value, gradient, rate=4.0, shrink=0.4):
        slope = float(jnp.vdot(gradient, gradient))
        for _ in range(12):
            there = self.image - rate * gradient
            if self.trial_value_only:
                trial = objective_only(there, self.rays, self.seen, self.weight)
            else:
                trial, _ = objective_and_gradient(there, self.rays, self.seen, self.weight)  # planted
            if float(trial) <= value - 1e-4 * rate * slope:
                return there
            rate *= shrink
        return self.image

    def iterate(self):
        value, gradient = objective_and_gradient(self.image, self.rays, self.seen, self.weight)
        self.image = self.backtrack(float(value), gradient)
        return value


def main(clock):
    clock.plan(3, 5)
    rng = np.random.default_rng(0)
    rays = project_matrix(rng)
    truth = jnp.zeros((SIDE, SIDE)).at[12:30, 15:33].set(1.0).reshape(-1)
    problem = Reconstruction(rays, rays @ truth, trial_value_only=clock.fixed)
    for step in clock.loop(lambda: problem.image):
        with clock.mark(step, "iterate"):
            problem.iterate()


if __name__ == "__main__":
    run(main)
