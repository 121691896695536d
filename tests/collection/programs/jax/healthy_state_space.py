"""S5 (Smith et al. 2022): diagonal state spaces by an associative scan, one compiled, donated step."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

WIDTH, STATES, LENGTH, BATCH, DEPTH = 64, 32, 128, 16, 1


def combine(left, right):
    return left[0] * right[0], right[0] * left[1] + right[1]


def s5(layer, u):
    poles = jnp.exp(-jnp.exp(layer["log_decay"]) + 1j * layer["angle"])
    driven = u @ (layer["b"][0] + 1j * layer["b"][1])
    _, x = jax.lax.associative_scan(combine, (jnp.broadcast_to(poles, driven.shape), driven), axis=1)
    return (x @ (layer["c"][0] + 1j * layer["c"][1])).real


def forward(params, u):
    x = u @ params["embed"]
    for layer in params["layers"]:
        y = jax.nn.gelu(s5(layer, x))
        x = x + y * jax.nn.sigmoid(y @ layer["gate"])
    return x.mean(1) @ params["head"]


@partial(jax.jit, donate_argnums=0)
def train_step(params, u, y):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((forward(p, u)[:, 0] - y) ** 2))(params)
    return jax.tree_util.tree_map(lambda p, g: p - 1e-3 * g, params, grads), loss


def init(key):
    keys = iter(jax.random.split(key, 5 * DEPTH + 2))
    normal = lambda *shape: jax.random.normal(next(keys), shape) / shape[-2] ** 0.5
    layers = [{"b": normal(2, WIDTH, STATES), "c": normal(2, STATES, WIDTH), "gate": normal(WIDTH, WIDTH), "log_decay": jnp.full(STATES, -3.0), "angle": jnp.linspace(0, 3, STATES)} for _ in range(DEPTH)]
    return {"embed": normal(2, WIDTH), "layers": layers, "head": normal(WIDTH, 1)}


def main(clock):
    clock.plan(5, 4)
    rng = np.random.default_rng(0)
    u = jnp.asarray(rng.standard_normal((8, BATCH, LENGTH, 2)), jnp.float32)
    y = jnp.prod(u.mean(2), -1)
    params = init(jax.random.PRNGKey(0))
    losses = []
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = train_step(params, u[step % 8], y[step % 8])
            losses.append(loss)


if __name__ == "__main__":
    run(main)
