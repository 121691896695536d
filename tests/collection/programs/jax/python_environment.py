import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the environments of a policy gradient are stepped one by one in pure Python",
    "cause": "a simulation in Python",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["step_environments"],
    "part": "develop",
}


def step_environments(states, actions):
    new = list(states)
    for i, (x, v, angle, spin) in enumerate(states):
        force = 10.0 if actions[i] > 0.5 else -10.0
        sine, cosine = angle - angle**3 / 6.0, 1.0 - angle * angle / 2.0
        pull = (force + 0.05 * spin * spin * sine) / 1.1  # planted
        turn = (9.8 * sine - cosine * pull) / (0.67 - 0.05 * cosine * cosine)  # planted
        new[i] = (x + 0.02 * v, v + 0.02 * pull, angle + 0.02 * spin, spin + 0.02 * turn)
        if angle > 0.2 or angle < -0.2:
            new[i] = (0.0, 0.0, 0.01, 0.0)
    return new


@jax.jit
def act(w, states):
    return jax.nn.sigmoid(states @ w)[:, 0]


def main(clock):
    clock.plan(2, 5)
    w = jnp.ones((4, 1))
    count = 32 if clock.fixed else 4000
    states = [(0.0, 0.0, 0.01 * (i % 5), 0.0) for i in range(count)]
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            actions = np.asarray(act(w, np.array(states, np.float32))).tolist()
            states = step_environments(states, actions)


if __name__ == "__main__":
    run(main)
