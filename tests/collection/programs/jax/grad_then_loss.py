import logging
import sys
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the loss for the log is computed by a second function, after the gradient has computed it too",
    "cause": "the same forward pass twice",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["log_loss", "jit_evaluate_loss", "evaluate_loss"],
    "part": "develop",
}

log = logging.getLogger(__name__)


class State(NamedTuple):
    params: Any
    momentum: Any
    step: int


def init(key, vocab=200, width=128, hidden=192, classes=4):
    keys = jax.random.split(key, 4)
    normal = jax.random.normal
    return {
        "embed": normal(keys[0], (vocab, width)) * 0.1,
        "conv": [
            normal(k, (5, i, hidden)) * (5 * i) ** -0.5
            for k, i in zip(jax.random.split(keys[1], 3), (width, hidden, hidden))
        ],
        "query": normal(keys[2], (hidden,)) * 0.1,
        "out": normal(keys[3], (hidden, classes)) * 0.1,
    }


def forward(params, tokens):
    x = params["embed"][tokens]
    for kernel in params["conv"]:
        y = jax.lax.conv_general_dilated(x, kernel, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
        x = jax.nn.gelu(y)
    weights = jax.nn.softmax(x @ params["query"], axis=1)
    return jnp.einsum("btc,bt->bc", x, weights) @ params["out"]


def cross_entropy(params, tokens, labels):
    logits = jax.nn.log_softmax(forward(params, tokens))
    return -jnp.take_along_axis(logits, labels[:, None], 1).mean()


class TextClassifier:
    def __init__(self, lr=0.05, beta=0.9):
        self.lr, self.beta = lr, beta
        self.gradient = jax.jit(jax.grad(cross_entropy))
        self.both = jax.jit(jax.value_and_grad(cross_entropy))

        @jax.jit
        def evaluate_loss(params, tokens, labels):
            return cross_entropy(params, tokens, labels)

        self.evaluate_loss = evaluate_loss
        self.apply = jax.jit(self._apply)
        self.history = []

    def _apply(self, state, grads):
        momentum = jax.tree_util.tree_map(lambda m, g: self.beta * m + g, state.momentum, grads)
        params = jax.tree_util.tree_map(lambda p, m: p - self.lr * m, state.params, momentum)
        return State(params, momentum, state.step + 1)

    def log_loss(self, params, batch):
        self.history.append(self.evaluate_loss(params, *batch))  # planted

    def fit_batch(self, state, batch, once):
        if once:
            loss, grads = self.both(state.params, *batch)
            self.history.append(loss)
        else:
            grads = self.gradient(state.params, *batch)
            self.log_loss(state.params, batch)
        return self.apply(state, grads)


def main(clock):
    clock.plan(3, 3)
    params = init(jax.random.PRNGKey(0))
    state = State(params, jax.tree_util.tree_map(jnp.zeros_like, params), jnp.zeros((), jnp.int32))
    model = TextClassifier()
    rng = np.random.default_rng(0)
    tokens = jnp.asarray(rng.integers(0, 200, (24, 96)))
    labels = jnp.asarray(rng.integers(0, 4, 24))
    for step in clock.loop(lambda: state):
        with clock.mark(step):
            state = model.fit_batch(state, (tokens, labels), clock.fixed)
            jax.block_until_ready((state, model.history[-1]))
        if step % 100 == 99:
            log.info("step %d loss %.3f", step, np.mean(model.history[-100:]))


if __name__ == "__main__":
    run(main)
