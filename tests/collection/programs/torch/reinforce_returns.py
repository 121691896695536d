import sys
from pathlib import Path

import torch
from torch import nn
from torch.distributions import Categorical

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the return of each time is summed again from there to the end of the episode",
    "cause": "quadratic Python",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["discounted_returns"],
    "part": "develop",
}


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 2))

    def forward(self, states):
        return Categorical(logits=self.body(states))


def discounted_returns(rewards, gamma=0.99):
    returns = []
    for t in range(len(rewards)):
        returns.append(sum(gamma**k * r for k, r in enumerate(rewards[t:])))  # planted
    return torch.tensor(returns)


def backward_returns(rewards, gamma=0.99):
    returns, total = [], 0.0
    for r in reversed(rewards):
        total = r + gamma * total
        returns.append(total)
    return torch.tensor(returns[::-1])


def main(clock):
    clock.plan(3, 8)
    torch.manual_seed(0)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for step in clock.loop():
        with clock.mark(step, "episode"):
            states = torch.randn(500, 4)
            dist = policy(states)
            actions = dist.sample()
            rewards = [1.0] * 500
            returns = backward_returns(rewards) if clock.fixed else discounted_returns(rewards)
            returns = (returns - returns.mean()) / (returns.std() + 1e-6)
            loss = -(dist.log_prob(actions) * returns).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
