import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "prioritised replay walks its sum tree node by node in Python, for each sample and each new priority",
    "cause": "Python data structure in the loop",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["SumTree", "_retrieve", "_propagate", "sample"],
    "part": "develop",
}


class SumTree:
    def __init__(self, capacity):
        self.capacity = capacity
        self.tree = np.zeros(2 * capacity - 1)

    def _propagate(self, index, change):
        parent = (index - 1) // 2
        self.tree[parent] += change  # planted
        if parent != 0:
            self._propagate(parent, change)  # planted

    def _retrieve(self, index, value):
        left = 2 * index + 1
        if left >= len(self.tree):
            return index
        if value <= self.tree[left]:  # planted
            return self._retrieve(left, value)  # planted
        return self._retrieve(left + 1, value - self.tree[left])  # planted

    def update(self, leaf, priority):
        index = leaf + self.capacity - 1
        change = priority - self.tree[index]
        self.tree[index] = priority
        self._propagate(index, change)

    def sample(self, count):
        part = self.tree[0] / count
        values = (np.arange(count) + np.random.random(count)) * part
        return np.array([self._retrieve(0, v) for v in values]) - self.capacity + 1

    def update_all(self, leaves, priorities):
        for leaf, priority in zip(leaves, priorities):
            self.update(leaf, priority)


class ArrayTree(SumTree):
    """All samples go down level by level."""

    def sample(self, count):
        values = (np.arange(count) + np.random.random(count)) * self.tree[0] / count
        at = np.zeros(count, np.int64)
        while at[0] < self.capacity - 1:
            left = 2 * at + 1
            right = values > self.tree[left]
            values = np.where(right, values - self.tree[left], values)
            at = left + right
        return at - self.capacity + 1

    def update_all(self, leaves, priorities):
        at = np.unique(leaves) + self.capacity - 1
        self.tree[leaves + self.capacity - 1] = priorities
        while at[0] > 0:
            at = np.unique((at - 1) // 2)
            self.tree[at] = self.tree[2 * at + 1] + self.tree[2 * at + 2]


def main(clock):
    clock.plan(3, 6)
    rng = np.random.default_rng(0)
    capacity = 2**15
    tree = (ArrayTree if clock.fixed else SumTree)(capacity)
    ArrayTree.update_all(tree, np.arange(capacity), rng.random(capacity) + 0.1)
    states = torch.randn(capacity, 32)
    actions = torch.randint(0, 6, (capacity, 1))
    rewards = torch.randn(capacity)
    online, target = (nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 6)) for _ in range(2))
    optimizer = torch.optim.Adam(online.parameters(), 1e-4)
    for step in clock.loop():
        with clock.mark(step):
            index = tree.sample(256)
            rows = torch.from_numpy(index)
            q = online(states[rows]).gather(1, actions[rows])[:, 0]
            with torch.no_grad():
                goal = rewards[rows] + 0.99 * target(states[(rows + 1) % capacity]).max(1).values
            error = goal - q
            optimizer.zero_grad()
            error.square().mean().backward()
            optimizer.step()
            tree.update_all(index, error.detach().abs().numpy() + 0.01)


if __name__ == "__main__":
    run(main)
