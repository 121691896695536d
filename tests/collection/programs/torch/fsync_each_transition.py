"""Deep Q-learning on a balancing pole; transitions go to a journal, to go on after a crash."""
import json
import math
import os
import random
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the journal calls os.fsync after each transition, and waits for the disk four times a step",
    "cause": "waiting for the disk",
    "accept": ["largest-part", "python-bound", "host-waits", "idle-device", "slow-launches"],
    "rules": ["python-bound", "host-waits", "idle-device"],
    "words": ["Journal", "write_transition", "fsync"],
    "part": "develop",
}

MOVES, BATCH, WIDTH = 4, 512, 256


class Journal:
    def __init__(self, path, sync_each):
        self.file, self.sync_each = open(path, "w", encoding="utf-8"), sync_each

    def write_transition(self, transition):
        self.file.write(json.dumps(transition) + "\n")
        if self.sync_each:
            self.file.flush()
            os.fsync(self.file.fileno())  # planted


class Pole:
    def __init__(self):
        self.state = [0.0, 0.0, 0.05, 0.0]

    def move(self, action):
        x, v, a, w = self.state
        push = 10.0 if action else -10.0
        pull = (9.8 * math.sin(a) - math.cos(a) * push / 1.1) / 0.6
        self.state = [x + 0.02 * v, v + 0.02 * push, a + 0.02 * w, w + 0.02 * pull]
        fell = abs(self.state[2]) > 0.2
        if fell:
            self.state = [0.0, 0.0, random.uniform(-0.05, 0.05), 0.0]
        return self.state, 1.0, fell


class Agent:
    def __init__(self, journal):
        layers = lambda: nn.Sequential(nn.Linear(4, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 2))
        self.net, self.target = layers(), layers()
        self.optimizer = torch.optim.Adam(self.net.parameters(), 1e-3)
        self.pole, self.memory, self.journal = Pole(), [], journal

    def play(self):
        with torch.no_grad():
            for _ in range(MOVES):
                before = self.pole.state
                action = int(self.net(torch.tensor(before)).argmax())
                after, reward, fell = self.pole.move(action)
                self.memory.append((before, action, reward, after, fell))
                self.journal.write_transition(self.memory[-1])

    def learn(self):
        before, action, reward, after, fell = zip(*random.choices(self.memory, k=BATCH))
        with torch.no_grad():
            best = self.target(torch.tensor(after)).max(1).values
            wanted = torch.tensor(reward) + 0.99 * best * (1 - torch.tensor(fell).float())
        q = self.net(torch.tensor(before)).gather(1, torch.tensor(action)[:, None])[:, 0]
        loss = nn.functional.smooth_l1_loss(q, wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main(clock):
    clock.plan(3, 3)
    torch.manual_seed(0)
    random.seed(0)
    agent = Agent(Journal(Path(clock.folder) / "journal.jsonl", sync_each=not clock.fixed))
    for step in clock.loop():
        with clock.mark(step):
            agent.play()
            agent.learn()


if __name__ == "__main__":
    run(main)
