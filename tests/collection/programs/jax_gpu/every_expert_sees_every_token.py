"""A language model with a mixture of sixteen experts, of which a router takes one per token."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every expert computes every token, and the outputs of all but the chosen one are multiplied by zero",
    "cause": "results computed and thrown away",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["mix_experts", "tef", "ted"],
    "part": "develop",
}

GPU = jax.default_backend() == "gpu"
ROWS, TIME, WIDTH, INNER, EXPERTS, LAYERS = (16, 512, 512, 1536, 16, 2) if GPU else (4, 64, 64, 128, 8, 2)
VOCABULARY = 8192 if GPU else 512


def norm(x):
    x32 = x.astype(jnp.float32)
    return (x32 * jax.lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-6)).astype(x.dtype)


def mix_experts(p, x, gates):
    chosen = jax.nn.one_hot(jnp.argmax(gates, -1), EXPERTS) * gates
    hidden = jax.nn.gelu(jnp.einsum("td,edf->tef", x, p["up"]))  # planted
    outputs = jnp.einsum("tef,efd->ted", hidden, p["down"])  # planted
    return jnp.einsum("ted,te->td", outputs, chosen.astype(x.dtype))  # planted


def send_to_experts(p, x, gates):
    tokens = x.shape[0]
    room = 2 * tokens // EXPERTS
    expert = jnp.argmax(gates, -1)
    order = jnp.argsort(expert)
    first = jnp.searchsorted(expert[order], jnp.arange(EXPERTS))
    slot = first[:, None] + jnp.arange(room)
    source = order[jnp.minimum(slot, tokens - 1)]
    is_own = (slot < tokens) & (expert[source] == jnp.arange(EXPERTS)[:, None])
    weight = jnp.where(is_own, gates[source, jnp.arange(EXPERTS)[:, None]], 0)
    hidden = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", x[source], p["up"]))
    outputs = jnp.einsum("ecf,efd->ecd", hidden, p["down"]) * weight[..., None].astype(x.dtype)
    return jnp.zeros_like(x).at[source.reshape(-1)].add(outputs.reshape(-1, WIDTH))


def block(x, p, route):
    before = jnp.cumsum(norm(x).astype(jnp.float32), 1) / (1.0 + jnp.arange(TIME))[:, None]
    x = x + jax.nn.silu(before.astype(x.dtype) @ p["past"]) * (norm(x) @ p["now"])
    flat = norm(x).reshape(-1, WIDTH)
    gates = jax.nn.softmax((flat @ p["router"]).astype(jnp.float32))
    mixed = (send_to_experts if route else mix_experts)(p, flat, gates)
    return x + mixed.reshape(x.shape)


@partial(jax.jit, static_argnames="route", donate_argnames="params")
def train_step(params, tokens, route):
    def loss_fn(params):
        p = jax.tree.map(lambda a: a.astype(jnp.bfloat16), params)
        x = p["embed"][tokens]
        for layer in p["layers"]:
            x = block(x, layer, route)
        logits = (norm(x)[:, :-1] @ p["embed"].T).astype(jnp.float32)
        chosen = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - chosen)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads), loss


def main(clock):
    clock.plan(3, 5)
    key, shapes = jax.random.PRNGKey(0), {
        "past": (WIDTH, WIDTH),
        "now": (WIDTH, WIDTH),
        "router": (WIDTH, EXPERTS),
        "up": (EXPERTS, WIDTH, INNER),
        "down": (EXPERTS, INNER, WIDTH),
    }
    layers = []
    for k in jax.random.split(key, LAYERS):
        layers.append({n: 0.03 * jax.random.normal(a, s) for a, (n, s) in zip(jax.random.split(k, 5), shapes.items())})
    params = {"embed": 0.03 * jax.random.normal(key, (VOCABULARY, WIDTH)), "layers": layers}
    tokens = jax.random.randint(key, (ROWS, TIME), 0, VOCABULARY)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = train_step(params, tokens, route=clock.fixed)


if __name__ == "__main__":
    run(main)
