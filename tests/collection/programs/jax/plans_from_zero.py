"""Model-predictive control of a chain of carts: plans by Adam through a learned model."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each control step plans from zeros with twelve iterations, where the last plan, shifted by a step, needs three",
    "cause": "work done again",
    "accept": ["largest-part", "dominant-op", "tiny-ops", "tiny-kernels"],
    "rules": ["dominant-op"],
    "words": ["replan"],
    "part": "develop",
}

STATE, CONTROL, HORIZON, HIDDEN, MODELS = 12, 4, 8, 384, 32


def init(key):
    k1, k2 = jax.random.split(key)
    return {"w1": 0.2 * jax.random.normal(k1, (MODELS, STATE + CONTROL, HIDDEN)), "w2": 0.05 * jax.random.normal(k2, (MODELS, HIDDEN, STATE))}


def dynamics(model, state, control):
    return state + jnp.tanh(jnp.concatenate([state, control], -1) @ model["w1"]) @ model["w2"]


def cost(plan, models, state):
    def roll(model):
        def one(state, control):
            state = dynamics(model, state, control)
            return state, jnp.sum(state**2) + 0.1 * jnp.sum(control**2)

        return jax.lax.scan(one, state, plan)[1].sum()

    return jax.vmap(roll)(models).mean()


@partial(jax.jit, static_argnames="iterations")
def replan(plan, models, state, iterations):
    def adam(carry, i):
        plan, m, v = carry
        g = jax.grad(cost)(plan, models, state)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        return (plan - 0.05 * (m / (1 - 0.9**i)) / (jnp.sqrt(v / (1 - 0.99**i)) + 1e-8), m, v), None

    start = (plan, jnp.zeros_like(plan), jnp.zeros_like(plan))
    return jax.lax.scan(adam, start, jnp.arange(1.0, iterations + 1))[0][0]  # planted


@jax.jit
def act(models, state, plan):
    model = jax.tree_util.tree_map(lambda w: w[0], models)
    return dynamics(model, state, plan[0])


def main(clock):
    clock.plan(4, 2)
    models = init(jax.random.PRNGKey(0))
    state = jnp.ones(STATE)
    plan = jnp.zeros((HORIZON, CONTROL))
    for step in clock.loop(lambda: state):
        with clock.mark(step, "control"):
            if clock.fixed:
                plan = jnp.roll(plan, -1, 0).at[-1].set(0.0)
                plan = replan(plan, models, state, iterations=3)
            else:
                plan = replan(jnp.zeros_like(plan), models, state, iterations=12)  # planted
            state = act(models, state, plan)
            jax.block_until_ready(state)


if __name__ == "__main__":
    run(main)
