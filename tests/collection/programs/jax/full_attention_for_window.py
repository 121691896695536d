import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "attention within a window of 32 is computed between all positions and masked",
    "cause": "results computed and thrown away",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["windowed_scores", "bhqk"],
    "part": "develop",
}


@dataclass(frozen=True)
class Config:
    vocab: int = 256
    width: int = 96
    heads: int = 4
    layers: int = 2
    window: int = 32
    length: int = 384
    batch: int = 2


def init(key, cfg):
    keys = iter(jax.random.split(key, 4 * cfg.layers + 2))
    normal = lambda *shape: jax.random.normal(next(keys), shape) * shape[0] ** -0.5
    layers = [
        {
            "qkv": normal(cfg.width, 3 * cfg.width),
            "proj": normal(cfg.width, cfg.width),
            "up": normal(cfg.width, 2 * cfg.width),
            "down": normal(2 * cfg.width, cfg.width),
        }
        for _ in range(cfg.layers)
    ]
    return {"embed": normal(cfg.vocab, cfg.width), "layers": layers, "head": normal(cfg.width, cfg.vocab)}


def rms_norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6)


def windowed_scores(q, k, v, window):
    """Mistral's sliding window, by a mask."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5  # planted
    back = jnp.arange(q.shape[1])[:, None] - jnp.arange(q.shape[1])[None]
    scores = jnp.where((back >= 0) & (back < window), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)  # planted


def blocked(q, k, v, window):
    """Each block looks at itself and the one before."""
    b, t, h, d = q.shape
    split = lambda x: x.reshape(b, t // window, window, h, d)
    q, k, v = split(q), split(k), split(v)
    before = lambda x: jnp.concatenate([jnp.pad(x[:, :-1], ((0, 0), (1, 0), *[(0, 0)] * 3)), x], 2)
    scores = jnp.einsum("bnqhd,bnkhd->bnhqk", q, before(k)) / d**0.5
    back = jnp.arange(window)[:, None] + window - jnp.arange(2 * window)[None]
    near = (back >= 0) & (back < window)
    real = (jnp.arange(t // window)[:, None] > 0) | (jnp.arange(2 * window)[None] >= window)
    scores = jnp.where(near & real[:, None, None], scores, -1e9)
    out = jnp.einsum("bnhqk,bnkhd->bnqhd", jax.nn.softmax(scores), before(v))
    return out.reshape(b, t, h, d)


def forward(params, tokens, cfg, attend):
    x = params["embed"][tokens]
    for layer in params["layers"]:
        qkv = (rms_norm(x) @ layer["qkv"]).reshape(*tokens.shape, 3, cfg.heads, -1)
        y = attend(*jnp.moveaxis(qkv, 2, 0), cfg.window)
        x = x + y.reshape(x.shape) @ layer["proj"]
        x = x + jax.nn.silu(rms_norm(x) @ layer["up"]) @ layer["down"]
    return rms_norm(x) @ params["head"]


@partial(jax.jit, static_argnames=("cfg", "attend"))
def train_step(params, tokens, cfg, attend):
    def loss_fn(params):
        logits = jax.nn.log_softmax(forward(params, tokens[:, :-1], cfg, attend))
        return -jnp.take_along_axis(logits, tokens[:, 1:, None], -1).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss


def main(clock):
    clock.plan(3, 4)
    cfg = Config()
    params = init(jax.random.PRNGKey(0), cfg)
    text = jax.random.randint(jax.random.PRNGKey(1), (cfg.batch, cfg.length + 1), 0, cfg.vocab)
    attend = blocked if clock.fixed else windowed_scores
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = train_step(params, text, cfg, attend)
            jax.block_until_ready(loss)


if __name__ == "__main__":
    run(main)
