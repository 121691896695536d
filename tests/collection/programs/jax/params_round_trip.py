import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "parameters go to numpy and back in every step to be updated there",
    "cause": "copies between device and host",
    "accept": ["python-bound", "host-copies"],
    "rules": ["python-bound", "host-copies"],
    "words": ["update_on_host"],
    "part": "develop",
}


@jax.jit
def grads_of(params, x):
    def loss(params):
        y = x
        for p in params:
            y = jax.nn.relu(y @ p)
        return jnp.mean((y - x) ** 2)

    return jax.grad(loss)(params)


def update_on_host(params, grads):
    new = []
    for p, g in zip(params, grads):
        host = np.array(p)  # planted
        host -= 0.1 * np.array(g)  # planted
        new.append(jnp.asarray(host.copy()))  # planted
    return new


@jax.jit
def update_on_device(params, grads):
    return [p - 0.1 * g for p, g in zip(params, grads)]


def main(clock):
    clock.plan(3, 8)
    key = jax.random.PRNGKey(0)
    params = [jax.random.normal(key, (512, 512)) * 0.04 for _ in range(6)]
    x = jax.random.normal(key, (16, 512))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            grads = grads_of(params, x)
            params = (update_on_device if clock.fixed else update_on_host)(params, grads)


if __name__ == "__main__":
    run(main)
