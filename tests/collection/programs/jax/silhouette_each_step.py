import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a silhouette score over all pairs of points after every update",
    "cause": "a metric that costs more than the model",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["silhouette"],
    "part": "develop",
}


def silhouette(codes, labels):
    dist = np.sqrt(((codes[:, None] - codes[None]) ** 2).sum(-1))  # planted
    scores = []
    for i in range(len(codes)):
        own = dist[i, labels == labels[i]].mean()  # planted
        other = min(dist[i, labels == k].mean() for k in range(4) if k != labels[i])  # planted
        scores.append((other - own) / max(own, other))
    return float(np.mean(scores))


def encode(w, x):
    return jnp.tanh(x @ w)


@jax.jit
def update(w, x):
    return w - 0.01 * jax.grad(lambda w: jnp.mean((encode(w, x) @ w.T - x) ** 2))(w)


def main(clock):
    clock.plan(3, 6)
    random = np.random.default_rng(0)
    x = random.random((300, 128)).astype(np.float32)
    labels = random.integers(0, 4, 300)
    w = jnp.ones((128, 16)) * 0.1
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w = update(w, x)
            if not clock.fixed:
                silhouette(np.asarray(encode(w, x)), labels)


if __name__ == "__main__":
    run(main)
