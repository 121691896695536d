import random
import sys
from collections import deque, namedtuple
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "random transitions are drawn from a deque of a million, which finds each by walking from an end",
    "cause": "random access to a linked structure",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound"],
    "words": ["random.py", "draw_transitions", "ReplayMemory", "deque"],
    "part": "develop",
}

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward", "done"))

GAMMA, TAU, LR, BATCH_SIZE, CAPACITY = 0.99, 0.005, 1e-4, 1024, 1_000_000


class ReplayMemory:
    def __init__(self, capacity, kind):
        self.memory = kind([])
        if kind is deque:
            self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def draw_transitions(self, batch_size):
        return random.sample(self.memory, batch_size)  # planted

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, observations, actions, width=256):
        super().__init__()
        self.layer1 = nn.Linear(observations, width)
        self.layer2 = nn.Linear(width, width)
        self.layer3 = nn.Linear(width, actions)

    def forward(self, x):
        return self.layer3(torch.relu(self.layer2(torch.relu(self.layer1(x)))))


def fill(memory):
    rng = np.random.default_rng(0)
    states = rng.normal(size=(1001, 16)).astype(np.float32)
    rounds = [
        Transition(states[i], i % 4, states[i + 1], float(i % 3), i % 50 == 0) for i in range(1000)
    ]
    for _ in range(CAPACITY // 1000):
        memory.memory.extend(rounds)


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    random.seed(0)
    memory = ReplayMemory(CAPACITY, list if clock.fixed else deque)
    fill(memory)
    policy_net, target_net = DQN(16, 4), DQN(16, 4)
    target_net.load_state_dict(policy_net.state_dict())
    optimizer = torch.optim.AdamW(policy_net.parameters(), lr=LR, amsgrad=True)
    criterion = nn.SmoothL1Loss()
    state = np.zeros(16, np.float32)
    for step in clock.loop():
        with clock.mark(step):
            with torch.no_grad():
                action = policy_net(torch.from_numpy(state)[None]).argmax()
            following = np.tanh(state + 0.1 * np.float32(action))
            memory.push(state, int(action), following, 1.0, False)
            state = following
            batch = Transition(*zip(*memory.draw_transitions(BATCH_SIZE)))
            states = torch.from_numpy(np.stack(batch.state))
            next_states = torch.from_numpy(np.stack(batch.next_state))
            actions, rewards = torch.tensor(batch.action), torch.tensor(batch.reward)
            alive = 1 - torch.tensor(batch.done, dtype=torch.float32)
            q = policy_net(states).gather(1, actions[:, None])[:, 0]
            with torch.no_grad():
                expected = rewards + GAMMA * alive * target_net(next_states).amax(1)
            loss = criterion(q, expected)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
            optimizer.step()
            with torch.no_grad():
                for kept, new in zip(target_net.parameters(), policy_net.parameters()):
                    kept.lerp_(new, TAU)


if __name__ == "__main__":
    run(main)
