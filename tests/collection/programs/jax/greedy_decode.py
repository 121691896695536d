import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "tokens are read back one by one while decoding",
    "cause": "a wait for every token",
    "accept": ["python-bound", "host-waits", "eager-execution"],
    "rules": ["python-bound", "host-waits", "eager-execution"],
    "words": ["greedy", "argmax", "__int__", "item"],
    "part": "develop",
}


@jax.jit
def next_logits(table, w, token, state):
    state = jnp.tanh(state @ w + table[token])
    return state @ table.T, state


def greedy(table, w, state, length):
    token, said = 0, []
    for _ in range(length):
        logits, state = next_logits(table, w, token, state)
        token = int(logits.argmax())  # planted
        said.append(token)
    return said


@jax.jit
def scan_decode(table, w, state):
    def one(carry, _):
        token, state = carry
        state = jnp.tanh(state @ w + table[token])
        token = jnp.argmax(state @ table.T)
        return (token, state), token

    return jax.lax.scan(one, (jnp.int32(0), state), None, length=32)[1]


def main(clock):
    clock.plan(2, 4)
    random = np.random.default_rng(0)
    table = jnp.asarray(random.normal(size=(500, 64)).astype(np.float32))
    w, state = jnp.eye(64) * 0.9, jnp.ones(64)
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            if clock.fixed:
                np.asarray(scan_decode(table, w, state))
            else:
                greedy(table, w, state, 32)


if __name__ == "__main__":
    run(main)
