"""A conditional normalizing flow: true momenta of jets given the hits they leave."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each coupling takes the logarithm of the determinant of its whole Jacobian, which is triangular: the sum of its log-scales",
    "cause": "an algorithm that does more than it must",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["log_det", "jacfwd", "slogdet", "getrf", "lu"],
    "part": "develop",
}

DIM, WIDTH, BATCH, FLOWS, HITS, SEEN = 6, 128, 128, 2, 12, 192


def encode(params, hits):
    h = jax.nn.relu(jax.nn.relu(hits @ params["w1"]) @ params["w2"])
    return h.mean(-2) @ params["w3"]


def couple(layer, x, context):
    kept, moved = jnp.split(x, 2)
    h = jnp.tanh(jnp.tanh(kept @ layer["w1"] + context) @ layer["w2"])
    shift, log_scale = jnp.split(h @ layer["w3"], 2)
    return jnp.concatenate([moved * jnp.exp(log_scale) + shift, kept]), log_scale


def log_det(layer, x, context):
    jacobian = jax.jacfwd(lambda x: couple(layer, x, context)[0])(x)  # planted
    return jnp.linalg.slogdet(jacobian)[1]  # planted


def log_density(params, x, hits, from_scales):
    total, context = 0.0, encode(params["encoder"], hits)
    for layer in params["couplings"]:
        y, log_scale = couple(layer, x, context)
        total = total + (log_scale.sum() if from_scales else log_det(layer, x, context))
        x = y
    return total - 0.5 * jnp.sum(x**2)


@partial(jax.jit, static_argnames="from_scales", donate_argnums=0)
def train_step(params, x, hits, from_scales):
    def loss_fn(params):
        return -jax.vmap(lambda one, seen: log_density(params, one, seen, from_scales))(x, hits).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 1e-3 * g, params, grads), loss


def init(key):
    def mlp(key, a, b, c, d):
        k1, k2, k3 = jax.random.split(key, 3)
        normal = lambda k, a, b: jax.random.normal(k, (a, b)) / a**0.5
        return {"w1": normal(k1, a, b), "w2": normal(k2, b, c), "w3": 0.1 * normal(k3, c, d)}

    first, *others = jax.random.split(key, FLOWS + 1)
    couplings = [mlp(k, DIM // 2, WIDTH, WIDTH, DIM) for k in others]
    return {"encoder": mlp(first, 5, SEEN, SEEN, WIDTH), "couplings": couplings}


def main(clock):
    clock.plan(4, 3)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, BATCH, DIM)).astype("float32")
    hits = rng.standard_normal((8, BATCH, HITS, 5)).astype("float32")
    params = init(jax.random.PRNGKey(0))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = train_step(params, x[step % 8], hits[step % 8], from_scales=clock.fixed)


if __name__ == "__main__":
    run(main)
