import copy
import random
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the replay buffer makes tensors of lists of arrays, torch.tensor([array, …]), number by number",
    "cause": "data converted in Python",
    "accept": ["largest-part", "python-bound", "input-bound", "host-copies"],
    "rules": ["python-bound"],
    "words": ["ReplayBuffer", "to_tensors", "built-in method tensor"],
    "part": "develop",
}

warnings.filterwarnings("ignore")


class Humanoid:
    """Something with the spaces of Humanoid-v4."""

    observations, actions = 376, 17

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def step(self, action):
        seen = self.rng.standard_normal(self.observations, dtype=np.float32)
        return seen, float(action.sum()), bool(self.rng.random() < 0.01)


class ReplayBuffer:
    def __init__(self, capacity, stacked):
        self.storage, self.capacity, self.stacked, self.at = [], capacity, stacked, 0

    def push(self, *transition):
        if len(self.storage) < self.capacity:
            self.storage.append(transition)
        else:
            self.storage[self.at] = transition
        self.at = (self.at + 1) % self.capacity

    def sample(self, count):
        return self.to_tensors(zip(*random.choices(self.storage, k=count)))

    def to_tensors(self, columns):
        if self.stacked:
            return [torch.from_numpy(np.asarray(column, dtype=np.float32)) for column in columns]
        return [torch.tensor(column, dtype=torch.float32) for column in columns]  # planted


def mlp(*sizes):
    layers = []
    for inside, outside in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inside, outside), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class TD3:
    def __init__(self, env, hidden=128, gamma=0.99, tau=0.005):
        self.actor = nn.Sequential(mlp(env.observations, hidden, hidden, env.actions), nn.Tanh())
        self.critics = nn.ModuleList(
            mlp(env.observations + env.actions, hidden, hidden, 1) for _ in range(2)
        )
        self.targets = copy.deepcopy(nn.ModuleList([self.actor, *self.critics])).requires_grad_(
            False
        )
        self.online = [*self.actor.parameters(), *self.critics.parameters()]
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=3e-4)
        self.critic_optimizer = torch.optim.Adam(self.critics.parameters(), lr=3e-4)
        self.gamma, self.tau = gamma, tau

    @torch.no_grad()
    def wanted(self, reward, seen, done):
        actor, *critics = self.targets
        action = actor(seen)
        action = (action + (0.2 * torch.randn_like(action)).clamp(-0.5, 0.5)).clamp(-1, 1)
        both = torch.cat([seen, action], 1)
        value = torch.minimum(*(critic(both) for critic in critics)).squeeze(1)
        return reward + self.gamma * (1 - done) * value

    def update(self, step, batch):
        state, action, reward, seen, done = batch
        wanted = self.wanted(reward, seen, done)
        both = torch.cat([state, action], 1)
        loss = sum(F.mse_loss(critic(both).squeeze(1), wanted) for critic in self.critics)
        self.critic_optimizer.zero_grad()
        loss.backward()
        self.critic_optimizer.step()
        if step % 2 == 0:
            value = self.critics[0](torch.cat([state, self.actor(state)], 1))
            self.actor_optimizer.zero_grad()
            (-value.mean()).backward()
            self.actor_optimizer.step()
            torch._foreach_lerp_(list(self.targets.parameters()), self.online, self.tau)


def main(clock):
    clock.plan(4, 3)
    torch.manual_seed(0)
    random.seed(0)
    env = Humanoid(0)
    agent, buffer = TD3(env), ReplayBuffer(5000, stacked=clock.fixed)
    state = np.zeros(env.observations, np.float32)
    for _ in range(2000):
        action = env.rng.uniform(-1, 1, env.actions).astype(np.float32)
        seen, reward, done = env.step(action)
        buffer.push(state, action, reward, seen, float(done))
        state = seen
    for step in clock.loop():
        with clock.mark(step, "update"):
            agent.update(step, buffer.sample(256))


if __name__ == "__main__":
    run(main)
