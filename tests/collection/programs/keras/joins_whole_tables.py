"""Orders of a shop: will they be sent back? Tables joined by pandas."""
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each batch merges its orders with the whole tables of customers and goods, whose keys are hashed again each time, where an index would find the rows",
    "cause": "input",
    "accept": ["largest-part", "input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch"],
    "words": ["merge", "joined", "orders_with_features", "pandas", "factorize"],
    "part": "develop",
}

CUSTOMERS, GOODS, BATCH = 80_000, 30_000, 256
FEATURES = [f"c{i}" for i in range(8)] + [f"g{i}" for i in range(8)]


def table(rng, rows, key, prefix):
    columns = {f"{prefix}{i}": rng.normal(size=rows).astype("float32") for i in range(8)}
    return pd.DataFrame({key: rng.permutation(rows), **columns})


def joined(orders, customers, goods):
    whole = orders.merge(customers, on="customer", how="left")  # planted
    return whole.merge(goods, on="good", how="left")[FEATURES]  # planted


def orders_with_features(customers, goods, by_index):
    rng = np.random.default_rng(1)
    if by_index:
        customers = customers.set_index("customer").sort_index().to_numpy()
        goods = goods.set_index("good").sort_index().to_numpy()
    while True:
        who, what = rng.integers(0, CUSTOMERS, BATCH), rng.integers(0, GOODS, BATCH)
        if by_index:
            x = np.concatenate([customers[who], goods[what]], 1)
        else:
            x = joined(pd.DataFrame({"customer": who, "good": what}), customers, goods).to_numpy()
        yield x.astype("float32"), (who + what) % 2


def main(clock):
    clock.plan(4, 5)
    rng = np.random.default_rng(0)
    customers, goods = table(rng, CUSTOMERS, "customer", "c"), table(rng, GOODS, "good", "g")
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(256, activation="relu"), layers.Dense(256, activation="relu"), layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    batches = orders_with_features(customers, goods, by_index=clock.fixed)
    for step in clock.loop():
        with clock.mark(step):
            model.train_on_batch(*next(batches))


if __name__ == "__main__":
    run(main)
