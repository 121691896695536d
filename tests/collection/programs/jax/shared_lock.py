import sys
import threading
import time
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the loop waits for a lock that a thread with slow statistics holds",
    "cause": "lock contention",
    "accept": ["lock-contention"],
    "rules": ["lock-contention"],
    "words": ["publish", "slow_statistics", "acquire", "lock"],
    "part": "develop", "unsteady": True,
}


class Board:
    def __init__(self):
        self.lock = threading.Lock()
        self.is_over = False
        self.value = 0.0

    def slow_statistics(self):
        while not self.is_over:
            with self.lock:
                time.sleep(0.02)  # planted
            time.sleep(0.0002)

    def publish(self, value):
        with self.lock:  # planted
            self.value = value


@jax.jit
def update(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)


def main(clock):
    clock.plan(3, 8)
    board = Board()
    thread = threading.Thread(target=board.slow_statistics, daemon=True)
    if not clock.fixed:
        thread.start()
    key = jax.random.PRNGKey(0)
    w = jax.random.normal(key, (128, 128)) * 0.1
    x = jax.random.normal(key, (256, 128))
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w = update(w, x)
            board.publish(step)
    board.is_over = True


if __name__ == "__main__":
    run(main)
