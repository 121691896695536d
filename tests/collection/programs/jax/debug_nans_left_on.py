"""Decoder-only transformer with AdamW by hand; somebody was hunting NaN."""
import math
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "jax_debug_nans is left on: every output of every call is looked through on the host",
    "cause": "a debugging aid left on",
    "accept": ["largest-part", "python-bound", "host-waits", "host-copies"],
    "rules": ["python-bound", "host-waits", "host-copies", "largest-part"],
    "words": ["jax_debug_nans", "check_special", "_check_special", "isnan", "configure"],
    "part": "develop",
}


class Config:
    vocab, width, heads, depth, length, batch = 8192, 384, 6, 2, 8, 2
    lr, warmup, total, decay = 3e-4, 100, 10_000, 0.1
    b1, b2, eps, clip = 0.9, 0.95, 1e-8, 1.0


def configure(debug):
    jax.config.update("jax_debug_nans", debug)  # planted


def init(key, c):
    keys = iter(jax.random.split(key, 100))

    def dense(a, b):
        return jax.random.normal(next(keys), (a, b)) / math.sqrt(a)

    blocks = []
    for _ in range(c.depth):
        block = {"qkv": dense(c.width, 3 * c.width), "out": dense(c.width, c.width)}
        block["up"], block["down"] = dense(c.width, 4 * c.width), dense(4 * c.width, c.width)
        block["n1"], block["n2"] = jnp.ones(c.width), jnp.ones(c.width)
        blocks.append(block)
    return {"embed": 0.02 * jax.random.normal(next(keys), (c.vocab, c.width)), "blocks": blocks, "norm": jnp.ones(c.width)}


def rms(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def attend(block, x, c):
    b, t, _ = x.shape
    q, k, v = (jnp.moveaxis(one.reshape(b, t, c.heads, -1), 2, 1) for one in jnp.split(x @ block["qkv"], 3, -1))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
    y = jnp.moveaxis(jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v), 1, 2)
    return y.reshape(b, t, -1) @ block["out"]


def forward(params, tokens, c):
    x = params["embed"][tokens]
    for block in params["blocks"]:
        x = x + attend(block, rms(x, block["n1"]), c)
        x = x + jax.nn.silu(rms(x, block["n2"]) @ block["up"]) @ block["down"]
    return rms(x, params["norm"]) @ params["embed"].T


def schedule(step, c):
    warm = step / c.warmup
    cosine = 0.5 * (1 + jnp.cos(jnp.pi * step / c.total))
    return c.lr * jnp.where(step < c.warmup, warm, cosine)


def make_step(c):
    @jax.jit
    def step_fn(params, m, v, step, tokens):
        def loss_of(params):
            logits = jax.nn.log_softmax(forward(params, tokens[:, :-1], c))
            return -jnp.mean(jnp.take_along_axis(logits, tokens[:, 1:, None], 2))

        tree_map = jax.tree_util.tree_map
        loss, grads = jax.value_and_grad(loss_of)(params)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree_util.tree_leaves(grads)))
        grads = tree_map(lambda g: g * jnp.minimum(1.0, c.clip / norm), grads)
        m = tree_map(lambda m, g: c.b1 * m + (1 - c.b1) * g, m, grads)
        v = tree_map(lambda v, g: c.b2 * v + (1 - c.b2) * g * g, v, grads)
        lr = schedule(step + 1.0, c)
        params = tree_map(lambda p, m, v: p - lr * (m / (jnp.sqrt(v) + c.eps) + c.decay * p), params, m, v)
        return params, m, v, loss, norm

    return step_fn


def main(clock):
    clock.plan(3, 3)
    configure(debug=not clock.fixed)
    c = Config()
    params = init(jax.random.PRNGKey(0), c)
    m = jax.tree_util.tree_map(jnp.zeros_like, params)
    v = jax.tree_util.tree_map(jnp.zeros_like, params)
    tokens = jax.random.randint(jax.random.PRNGKey(1), (c.batch, c.length + 1), 0, c.vocab)
    train_step = make_step(c)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, m, v, loss, norm = train_step(params, m, v, float(step), tokens)
            loss.block_until_ready()
    configure(debug=False)


if __name__ == "__main__":
    run(main)
