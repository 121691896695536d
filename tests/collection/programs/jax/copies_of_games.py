"""AlphaZero for Connect Four: self-play of many games at once, and a step of training."""
import copy
import math
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from clock import run
from connect.game import COLUMNS, ROWS, Game

LABEL = {
    "planted": "each simulation of a tree search copies its game by copy.deepcopy",
    "cause": "deep copies in a search in Python",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound", "largest-part"],
    "words": ["deepcopy", "_reconstruct", "descend"],
    "part": "develop",
}

GAMES, SIMULATIONS, CHANNELS = 24, 8, 64


class Node:
    def __init__(self, prior):
        self.prior, self.visits, self.total, self.children = prior, 0, 0.0, {}

    def value(self):
        return self.total / self.visits if self.visits else 0.0

    def best(self, explore=1.5):
        root = explore * math.sqrt(self.visits + 1)
        return max(self.children.items(), key=lambda kv: -kv[1].value() + root * kv[1].prior / (1 + kv[1].visits))


class Search:
    def __init__(self, game, clones):
        self.game, self.clones, self.root = game, clones, Node(1.0)

    def descend(self):
        game = self.game.clone() if self.clones else copy.deepcopy(self.game)  # planted
        node, path = self.root, [self.root]
        while node.children:
            move, node = node.best()
            game.play(move)
            path.append(node)
        return game, path

    def expand(self, game, path, policy, value):
        moves = game.legal()
        total = float(sum(policy[m] for m in moves)) or 1.0
        for move in moves:
            path[-1].children[move] = Node(float(policy[move]) / total)
        value = -1.0 if game.winner else float(value)
        for node in reversed(path):
            node.visits += 1
            node.total += value
            value = -value

    def policy(self):
        counts = np.zeros(COLUMNS, np.float32)
        for move, node in self.root.children.items():
            counts[move] = node.visits
        return counts / max(counts.sum(), 1.0)


def conv(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def net(params, boards):
    x = jax.nn.relu(conv(boards, params["first"]))
    x = x + jax.nn.relu(conv(x, params["second"]))
    x = x.reshape(len(x), -1)
    return jax.nn.log_softmax(x @ params["policy"]), jnp.tanh(x @ params["value"])[:, 0]


evaluate = jax.jit(net)


@jax.jit
def train_step(params, boards, policies, values):
    def loss_of(params):
        logits, guess = net(params, boards)
        return jnp.mean((guess - values) ** 2) - jnp.mean(jnp.sum(policies * logits, 1))

    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, jax.grad(loss_of)(params))


def planes(games):
    boards = np.stack([g.board * g.player for g in games])
    return np.stack([boards == 1, boards == -1], -1).astype(np.float32)


def self_play(params, games, clones):
    searches = [Search(game, clones) for game in games]
    for _ in range(SIMULATIONS):
        leaves = [one.descend() for one in searches]
        logits, values = evaluate(params, planes([game for game, _ in leaves]))
        for one, leaf, policy, value in zip(searches, leaves, np.exp(logits), np.asarray(values)):
            one.expand(*leaf, policy, value)
    return np.stack([one.policy() for one in searches])


def main(clock):
    clock.plan(3, 4)
    flat = ROWS * COLUMNS * CHANNELS
    shapes = {"first": (3, 3, 2, CHANNELS), "second": (3, 3, CHANNELS, CHANNELS), "policy": (flat, COLUMNS), "value": (flat, 1)}
    params = {k: 0.05 * jax.random.normal(jax.random.PRNGKey(i), s) for i, (k, s) in enumerate(shapes.items())}
    games = [Game() for _ in range(GAMES)]
    rng = np.random.default_rng(0)
    for game in games:
        for _ in range(6):
            game.play(int(rng.choice(game.legal())) if game.legal() else 0)
            game.winner = 0
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            boards = planes(games)
            policies = self_play(params, games, clones=clock.fixed)
            params = train_step(params, boards, policies, rng.choice([-1.0, 1.0], GAMES).astype(np.float32))
            jax.block_until_ready(params)
            for game, policy in zip(games, policies):
                if game.legal():
                    game.play(int(policy.argmax()))


if __name__ == "__main__":
    run(main)
