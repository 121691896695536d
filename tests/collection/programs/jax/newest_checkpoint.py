import glob
import os
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every step lists the folder and asks the time of each file, to see whether a newer checkpoint has come",
    "cause": "file system asked in each step",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["newest", "glob", "getmtime", "stat", "reload_if_newer"],
    "part": "develop",
}


class Evaluator:
    """Reloads the policy when the trainer has written a new one."""

    def __init__(self, folder, every):
        self.folder = folder
        self.every = every
        self.steps = 0
        self.loaded = None

    def newest(self):
        files = glob.glob(os.path.join(self.folder, "**", "*.npz"), recursive=True)  # planted
        return max(files, key=os.path.getmtime)  # planted

    def reload_if_newer(self):
        self.steps += 1
        if self.steps % self.every:
            return
        path = self.newest()
        if path != self.loaded:
            self.loaded = path


@jax.jit
def policy(params, observations):
    hidden = observations
    for w in params[:-1]:
        hidden = jax.nn.relu(hidden @ w)
    return jnp.argmax(hidden @ params[-1], -1)


def main(clock):
    clock.plan(3, 3)
    folder = Path(clock.folder) / "checkpoints"
    for i in range(240):
        path = folder / f"run{i % 12}" / f"step{i:06d}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    params = [0.05 * jax.random.normal(jax.random.PRNGKey(i), (512, 512)) for i in range(3)]
    observations = jax.random.normal(jax.random.PRNGKey(9), (512, 512))
    evaluator = Evaluator(str(folder), every=1000 if clock.fixed else 1)
    actions = jnp.zeros(())
    for step in clock.loop(lambda: actions):
        with clock.mark(step, "evaluate"):
            evaluator.reload_if_newer()
            actions = policy(params, observations)
            actions.block_until_ready()


if __name__ == "__main__":
    run(main)
