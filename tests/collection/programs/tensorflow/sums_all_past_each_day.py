"""A policy that orders stock day by day, trained through the simulation of a season."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the stock of each day is summed from all orders and sales since the first day",
    "cause": "running sums computed again",
    "accept": ["largest-part", "dominant-op", "no-xla"],
    "rules": [],
    "words": ["StridedSlice", "Pack", "Sum", "Mul", "lementwise", "stock_on"],
    "part": "develop",
}
DAYS, SHOPS, GOODS = 24, 512, 8


def stock_on(day, begin, orders, sales, prices):
    """What is on the shelves, and what that is worth."""
    ordered = tf.stack(orders[:day] + [tf.zeros_like(begin)])
    sold = tf.stack(sales[:day] + [tf.zeros_like(begin)])
    left = begin + tf.reduce_sum(ordered - sold, axis=0)  # planted
    return left, tf.reduce_sum(left * prices[day], axis=-1)


class Policy(tf.Module):
    def __init__(self):
        super().__init__()
        self.first = tf.Variable(tf.random.normal((2 * GOODS, 32), stddev=0.1))
        self.second = tf.Variable(tf.random.normal((32, GOODS), stddev=0.1))

    def __call__(self, left, seen):
        hidden = tf.nn.relu(tf.concat([left, seen], axis=-1) @ self.first)
        return tf.nn.softplus(hidden @ self.second)


def season(policy, begin, demand, prices, is_fixed):
    orders, sales, worth = [], [], []
    left = begin
    for day in range(DAYS):
        if is_fixed:
            value = tf.reduce_sum(left * prices[day], axis=-1)
        else:
            left, value = stock_on(day, begin, orders, sales, prices)
        order = policy(left, demand[day])
        sale = tf.minimum(left + order, demand[day])
        if is_fixed:
            left = left + order - sale
        orders.append(order)
        sales.append(sale)
        worth.append(value)
    return tf.add_n(worth) / DAYS - tf.add_n([tf.reduce_sum(sale, -1) for sale in sales])


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(1)
    policy = Policy()
    optimizer = tf.keras.optimizers.SGD(1e-4)
    begin = tf.random.uniform((SHOPS, GOODS)) * 5
    demand = tf.random.uniform((DAYS, SHOPS, GOODS))
    prices = tf.random.uniform((DAYS, SHOPS, GOODS))
    is_fixed = clock.fixed

    @tf.function
    def improve(begin, demand, prices):
        with tf.GradientTape() as tape:
            cost = tf.reduce_mean(season(policy, begin, demand, prices, is_fixed))
        weights = policy.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(cost, weights), weights))
        return cost

    for step in clock.loop():
        with clock.mark(step):
            float(improve(begin, demand, prices))


if __name__ == "__main__":
    run(main)
