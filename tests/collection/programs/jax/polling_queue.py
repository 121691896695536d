import queue
import sys
import threading
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the reader asks an empty queue and sleeps for longer each time, instead of waiting on it",
    "cause": "sleeping back-off",
    "accept": ["python-bound", "input-bound"],
    "rules": ["python-bound", "input-bound", "host-waits", "idle-device"],
    "words": ["sleep", "with_backoff", "wrapper"],
    "part": "develop",
}


def with_backoff(read):
    def wrapper(*args):
        delay = 0.02
        while True:
            try:
                return read(*args)
            except queue.Empty:
                time.sleep(delay)  # planted
                delay = min(2 * delay, 0.5)

    return wrapper


def fill(batches, stop):
    rng = np.random.default_rng(0)
    while not stop.is_set():
        time.sleep(0.004)
        batch = rng.random((256, 256), np.float32)
        while not stop.is_set():
            try:
                batches.put(batch, timeout=0.2)
                break
            except queue.Full:
                pass


@with_backoff
def read(batches):
    return batches.get_nowait()


@jax.jit
def update(params, x):
    def loss(params):
        hidden = x
        for w in params:
            hidden = jnp.tanh(hidden @ w)
        return jnp.mean((hidden - x) ** 2)

    return jax.tree_util.tree_map(lambda w, g: w - 0.1 * g, params, jax.grad(loss)(params))


def main(clock):
    clock.plan(3, 8)
    params = [0.05 * jax.random.normal(key, (256, 256)) for key in jax.random.split(jax.random.PRNGKey(0), 6)]
    batches, stop = queue.Queue(maxsize=1), threading.Event()
    thread = threading.Thread(target=fill, args=(batches, stop), daemon=True)
    thread.start()
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            batch = batches.get() if clock.fixed else read(batches)
            params = update(params, batch)
            jax.block_until_ready(params)
    stop.set()
    thread.join()


if __name__ == "__main__":
    run(main)
