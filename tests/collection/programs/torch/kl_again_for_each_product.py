"""Trust region policy optimisation: conjugate gradients on the Fisher matrix."""
import sys
from pathlib import Path

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each product with the Fisher matrix runs the policy, its divergence and the first gradient again, which could be kept through all four",
    "cause": "the same computed again in a loop",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["fisher_product", "divergence_gradient", "kl_divergence", "make_product"],
    "part": "develop",
}

STATES, SIGHT, ACTIONS, WIDTH = 1024, 48, 8, 128


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(SIGHT, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, ACTIONS))
        self.log_std = nn.Parameter(torch.zeros(ACTIONS))

    def forward(self, states):
        return Normal(self.net(states), self.log_std.exp(), validate_args=False)


def flat(tensors):
    return torch.cat([one.reshape(-1) for one in tensors])


class NaturalGradient:
    def __init__(self, policy, states, keeps, damping=0.1):
        self.policy, self.states, self.damping = policy, states, damping
        self.parameters = list(policy.parameters())
        self.kept = self.divergence_gradient() if keeps else None

    def divergence_gradient(self):
        now = self.policy(self.states)
        before = Normal(now.loc.detach(), now.scale.detach(), validate_args=False)
        divergence = kl_divergence(before, now).sum(-1).mean()
        return flat(torch.autograd.grad(divergence, self.parameters, create_graph=True))

    def fisher_product(self, vector):
        gradient = self.divergence_gradient() if self.kept is None else self.kept  # planted
        product = torch.autograd.grad(gradient @ vector, self.parameters, retain_graph=True)
        return flat(product) + self.damping * vector

    def solve(self, b, rounds=4):
        x, r = torch.zeros_like(b), b.clone()
        p, rr = r.clone(), r @ r
        for _ in range(rounds):
            q = self.fisher_product(p)
            alpha = rr / (p @ q)
            x, r = x + alpha * p, r - alpha * q
            before, rr = rr, r @ r
            p = r + rr / before * p
        return x


def main(clock):
    clock.plan(1, 2)
    torch.manual_seed(0)
    policy = Policy()
    for step in clock.loop():
        with clock.mark(step, "update"):
            states, advantages = torch.randn(STATES, SIGHT), torch.randn(STATES)
            with torch.no_grad():
                actions = policy(states).sample()
            gain = (policy(states).log_prob(actions).sum(-1) * advantages).mean()
            b = flat(torch.autograd.grad(gain, list(policy.parameters())))
            natural = NaturalGradient(policy, states, keeps=clock.fixed)
            way = natural.solve(b)
            scale = (2 * 0.01 / (way @ natural.fisher_product(way))).abs().sqrt()
            with torch.no_grad():
                nn.utils.vector_to_parameters(flat(policy.parameters()) + scale * way, policy.parameters())


if __name__ == "__main__":
    run(main)
