import sys
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a thread of the program draws a progress display in a busy loop of Python",
    "cause": "lock of the interpreter held by another thread",
    "accept": ["gil-contention", "gil"],
    "rules": ["gil-contention", "gil"],
    "words": ["draw_progress", "GIL"],
    "part": "develop", "repeats": 30, "unsteady": True,
}
state = {"on": False, "step": 0, "text": ""}


def draw_progress():
    while state["on"]:
        text = ""
        while not text[60:]:
            text += "#" if state["step"] > 3 else "."  # planted
        state["text"] = text


@jax.jit
def update(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)


def main(clock):
    clock.plan(2, 3)
    w = jnp.eye(32)
    rng = np.random.default_rng(0)
    batches = [rng.normal(size=(16, 32)).astype(np.float32) for _ in range(30)]
    thread = threading.Thread(target=draw_progress, name="progress", daemon=True)
    history = open(clock.folder + "/history.txt", "w")
    state["on"] = not clock.fixed
    thread.start()
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            for batch in batches:
                w = update(w, batch)
                history.write(f"{step} {float(w[0, 0])}\n")
                history.flush()  # a thread that writes releases the GIL, and waits to get it back
            state["step"] = step
    state["on"] = False
    thread.join()


if __name__ == "__main__":
    run(main)
