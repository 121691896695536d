import random
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the temperature of a distillation cools step by step, and is a static argument",
    "cause": "compiled again",
    "accept": ["recompilation"],
    "rules": ["recompilation"],
    "words": ["distill", "compiled again"],
    "part": "develop",
}


def distill(params, x, teacher, temperature):
    def loss(params):
        logits = jnp.tanh(x @ params["a"]) @ params["b"]
        wanted = jax.nn.softmax(teacher / temperature)
        return -jnp.mean(jnp.sum(wanted * jax.nn.log_softmax(logits / temperature), -1))

    grads = jax.grad(loss)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)


class Student:
    def __init__(self, is_fixed):
        self.update = jax.jit(distill) if is_fixed else jax.jit(distill, static_argnums=3)  # planted
        self.params = {"a": jnp.full((128, 256), 0.01), "b": jnp.full((256, 50), 0.01)}
        self.rng = np.random.default_rng(0)
        self.hot = random.uniform(3.0, 5.0)  # a run of its own: JAX knows all values of runs before

    def learn(self, step):
        x = self.rng.normal(size=(64, 128)).astype("float32")
        teacher = self.rng.normal(size=(64, 50)).astype("float32")
        self.params = self.update(self.params, x, teacher, round(self.hot * 0.98 ** (step // 2), 4))


def main(clock):
    clock.plan(3, 4)
    student = Student(clock.fixed)
    for step in clock.loop(lambda: student.params):
        with clock.mark(step):
            student.learn(step)
            jax.block_until_ready(student.params)


if __name__ == "__main__":
    run(main)
