import pickle
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the whole state is pickled to a file in every step",
    "cause": "checkpoints",
    "accept": ["python-bound", "checkpoint-every-step", "checkpoints"],
    "rules": ["python-bound", "checkpoint-every-step", "checkpoints"],
    "words": ["pickle", "dump", "save_state"],
    "part": "develop",
}


def save_state(path, params, step):
    state = {"step": step, "params": jax.tree_util.tree_map(np.asarray, params)}
    with open(path, "wb") as file:
        pickle.dump(state, file)  # planted


@jax.jit
def update(params, x):
    def loss(params):
        return jnp.mean((jax.nn.relu(x @ params["up"]) @ params["down"] - x) ** 2)

    grads = jax.grad(loss)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)


def main(clock):
    clock.plan(3, 8)
    key = jax.random.PRNGKey(0)
    params = {"up": jax.random.normal(key, (512, 2048)) * 0.02, "down": jax.random.normal(key, (2048, 512)) * 0.02}
    x = jax.random.normal(key, (32, 512))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params = update(params, x)
        if not clock.fixed:
            save_state(clock.folder + "/state.pkl", params, step)  # planted


if __name__ == "__main__":
    run(main)
