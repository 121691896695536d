"""Grasps of a robot arm by behaviour cloning; the state of the run is kept beside its settings."""
import sys
from pathlib import Path

import torch
import yaml
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "all settings and results of the run so far are written as YAML after each step, in pure Python",
    "cause": "output as text",
    "accept": ["largest-part", "python-bound", "growing-steps", "print-every-step"],
    "rules": ["python-bound", "growing-steps", "print-every-step"],
    "words": ["yaml", "safe_dump", "represent_data", "serialize_node", "RunState"],
    "part": "develop",
}

JOINTS, BATCH, WIDTH = 14, 96, 256


class RunState:
    """What a resumed run has to know."""

    def __init__(self, path, settings, as_lines):
        self.path, self.as_lines = path, as_lines
        self.state = {"settings": settings, "results": []}
        if as_lines:
            self.file = open(path, "w")
            yaml.safe_dump(settings, self.file)

    def add_result(self, **result):
        if self.as_lines:
            self.file.write(f"- {result}\n")
            return
        self.state["results"].append(result)
        with open(self.path, "w") as file:
            yaml.safe_dump(self.state, file, sort_keys=False)  # planted


def default_settings():
    joints = [{"name": f"joint{i}", "low": -3.1, "high": 3.1, "gain": 0.8} for i in range(JOINTS)]
    return {"robot": {"joints": joints, "gripper": "two fingers"}, "data": {"batch": BATCH, "shuffle": True}, "optimizer": {"name": "adam", "rate": 1e-3}}


def policy():
    layers, fan_in = [], 3 * JOINTS
    for _ in range(3):
        layers += [nn.Linear(fan_in, WIDTH), nn.LayerNorm(WIDTH), nn.Mish()]
        fan_in = WIDTH
    return nn.Sequential(*layers, nn.Linear(WIDTH, JOINTS))


def main(clock):
    clock.plan(3, 3)
    torch.manual_seed(0)
    model = policy()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=True)
    seen, done = torch.randn(8, BATCH, 3 * JOINTS), torch.randn(8, BATCH, JOINTS)
    state = RunState(Path(clock.folder) / "run.yaml", default_settings(), as_lines=clock.fixed)
    for step in clock.loop():
        with clock.mark(step):
            loss = nn.functional.huber_loss(model(seen[step % 8]), done[step % 8])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            state.add_result(step=step, loss=loss.item(), rate=1e-3)  # planted


if __name__ == "__main__":
    run(main)
