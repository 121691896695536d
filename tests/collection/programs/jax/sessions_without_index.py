"""Sessions of users out of SQLite for a self-attentive recommender."""
import os
import sqlite3
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the table of clicks has no index by user: each query for one user's last clicks reads all rows",
    "cause": "input",
    "accept": ["largest-part", "input-bound", "python-bound", "idle-device", "file-reads", "host-input-limit", "missing-prefetch"],
    "rules": ["input-bound", "python-bound", "idle-device", "file-reads", "host-input-limit", "missing-prefetch"],
    "words": ["sqlite3", "last_clicks", "ClickStore", "execute", "fetchall"],
    "part": "develop",
}

USERS, ITEMS, CLICKS, LENGTH, BATCH, DIM = 500, 3000, 15_000, 24, 24, 64


def build_database(path, indexed):
    rng = np.random.default_rng(0)
    rows = zip(rng.integers(0, USERS, CLICKS).tolist(), rng.integers(1, ITEMS, CLICKS).tolist(), range(CLICKS))
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE clicks (user INTEGER, item INTEGER, at INTEGER)")
        db.executemany("INSERT INTO clicks VALUES (?, ?, ?)", rows)
        if indexed:
            db.execute("CREATE INDEX by_user ON clicks (user, at)")
    db.close()


class ClickStore:
    def __init__(self, folder, indexed):
        path = os.path.join(folder, "clicks-indexed.db" if indexed else "clicks.db")
        if not os.path.exists(path):
            build_database(path, indexed)
        self.db = sqlite3.connect(path)

    def last_clicks(self, user):
        query = "SELECT item FROM clicks WHERE user = ? ORDER BY at DESC LIMIT ?"
        return [row[0] for row in self.db.execute(query, (user, LENGTH + 1)).fetchall()]  # planted

    def batch(self, users):
        out = np.zeros((len(users), LENGTH + 1), np.int32)
        for row, user in enumerate(users):
            items = self.last_clicks(int(user))[::-1]
            if items:
                out[row, -len(items) :] = items
        return out


def init(key):
    k = jax.random.split(key, 4)
    w = lambda key, a, b: jax.random.normal(key, (a, b)) * a**-0.5
    return {"items": w(k[0], ITEMS, DIM), "qkv": w(k[1], DIM, 3 * DIM), "up": w(k[2], DIM, 4 * DIM), "down": w(k[3], 4 * DIM, DIM)}


def loss_fn(p, clicks):
    x = p["items"][clicks[:, :-1]]
    q, k, v = jnp.split(x @ p["qkv"], 3, -1)
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    scores = jnp.where(mask, q @ k.swapaxes(1, 2) * DIM**-0.5, -1e9)
    x = x + jax.nn.softmax(scores) @ v
    x = x + jax.nn.relu(x @ p["up"]) @ p["down"]
    last = x[:, -1] @ p["items"].T
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(last), clicks[:, -1:], 1))


@jax.jit
def train_step(p, clicks):
    loss, g = jax.value_and_grad(loss_fn)(p, clicks)
    return jax.tree_util.tree_map(lambda a, b: a - 0.1 * b, p, g), loss


def main(clock):
    clock.plan(4, 5)
    store = ClickStore(clock.folder, indexed=clock.fixed)
    rng = np.random.default_rng(2)
    params = init(jax.random.PRNGKey(0))
    loss = jnp.zeros(())
    for step in clock.loop(lambda: loss):
        with clock.mark(step):
            clicks = store.batch(rng.integers(0, USERS, BATCH))
            params, loss = train_step(params, clicks)
            if step % 10 == 9:
                print(step, float(loss))


if __name__ == "__main__":
    run(main)
