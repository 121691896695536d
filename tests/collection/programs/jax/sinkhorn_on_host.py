import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "Sinkhorn iterations run in a Python loop that reads the error from the device after each",
    "cause": "a convergence test on the host",
    "accept": ["largest-part", "host-waits", "python-bound", "launch-bound", "tiny-kernels", "idle-device"],
    "rules": ["host-waits", "python-bound", "launch-bound", "tiny-kernels", "idle-device"],
    "words": ["transport_plan", "sinkhorn_update", "__float__"],
    "part": "develop",
}

EPS, TOLERANCE, MAX_ITERATIONS = 0.02, 1e-6, 45


def init_mlp(key, sizes):
    params = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        key, sub = jax.random.split(key)
        w = jax.random.normal(sub, (inputs, outputs)) * (2 / inputs) ** 0.5
        params.append({"w": w, "b": jnp.zeros(outputs)})
    return params


def encode(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    x = x @ params[-1]["w"] + params[-1]["b"]
    return x / jnp.linalg.norm(x, axis=1, keepdims=True)


@jax.jit
def cost_matrix(params, x, y):
    return 1 - encode(params, x) @ encode(params, y).T


@jax.jit
def sinkhorn_update(cost, f, g):
    n = cost.shape[0]
    f = -EPS * (jax.nn.logsumexp((g[None] - cost) / EPS, axis=1) + jnp.log(n))
    new = -EPS * (jax.nn.logsumexp((f[:, None] - cost) / EPS, axis=0) + jnp.log(n))
    return f, new, jnp.abs(new - g).max()


def transport_plan(cost):
    f, g = jnp.zeros(cost.shape[0]), jnp.zeros(cost.shape[1])
    for _ in range(MAX_ITERATIONS):
        f, g, error = sinkhorn_update(cost, f, g)
        if float(error) < TOLERANCE:  # planted
            break
    return jnp.exp((f[:, None] + g[None] - cost) / EPS)


@jax.jit
def plan_on_device(cost):
    def goes_on(carry):
        return (carry[2] > TOLERANCE) & (carry[3] < MAX_ITERATIONS)

    def body(carry):
        return *sinkhorn_update(cost, *carry[:2]), carry[3] + 1

    start = jnp.zeros(cost.shape[0]), jnp.zeros(cost.shape[1]), jnp.inf, 0
    f, g, *_ = jax.lax.while_loop(goes_on, body, start)
    return jnp.exp((f[:, None] + g[None] - cost) / EPS)


@partial(jax.jit, static_argnames="lr")
def update(params, x, y, plan, lr=0.01):
    def loss(params):
        return jnp.sum(plan * (1 - encode(params, x) @ encode(params, y).T))

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree_util.tree_map(lambda p, g: p - lr * g, params, grads), value


def main(clock):
    clock.plan(3, 3)
    key = jax.random.PRNGKey(0)
    params = init_mlp(key, (64, 768, 768, 32))
    source = jax.random.normal(key, (128, 64))
    target = source[::-1] + 0.3 * jax.random.normal(jax.random.PRNGKey(1), (128, 64))
    plan_of = plan_on_device if clock.fixed else transport_plan
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            plan = plan_of(cost_matrix(params, source, target))
            params, loss = update(params, source, target, plan)
            jax.block_until_ready(loss)


if __name__ == "__main__":
    run(main)
