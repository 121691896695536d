import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a command is run in every step to ask for the state of the machine",
    "cause": "a child process in each step",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["machine_state", "subprocess"],
    "part": "develop",
}


def machine_state():
    answer = subprocess.run(["cat", "/proc/loadavg"], capture_output=True, text=True)  # planted
    return float(answer.stdout.split()[0])


@jax.jit
def update(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)


def main(clock):
    clock.plan(3, 8)
    key = jax.random.PRNGKey(0)
    w = jax.random.normal(key, (128, 128)) * 0.1
    x = jax.random.normal(key, (256, 128))
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w = update(w, x)
            if not clock.fixed:
                machine_state()


if __name__ == "__main__":
    run(main)
