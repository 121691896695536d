import sys
from collections import defaultdict
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each task's loss goes backward through the shared trunk by itself, with the graph retained",
    "cause": "the same backward pass several times",
    "accept": ["largest-part", "repeated-gradients"],
    "rules": ["repeated-gradients"],
    "words": ["retain_graph", "backpropagate_tasks"],
    "part": "develop",
}

WEIGHTS = {"identity": 1.0, "age": 0.05, "smile": 0.5, "pose": 0.1}


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList()
        for inputs, outputs in ((3, 32), (32, 64), (64, 96)):
            self.stages.append(
                nn.Sequential(
                    nn.Conv2d(inputs, outputs, 3, stride=2, padding=1),
                    nn.BatchNorm2d(outputs),
                    nn.PReLU(outputs),
                )
            )

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return x.mean((2, 3))


class FaceNet(nn.Module):
    def __init__(self, people=200):
        super().__init__()
        self.trunk = Trunk()
        outputs = {"identity": people, "age": 1, "smile": 2, "pose": 3}
        self.heads = nn.ModuleDict({name: nn.Linear(96, size) for name, size in outputs.items()})

    def forward(self, x):
        features = self.trunk(x)
        return {name: head(features) for name, head in self.heads.items()}


def losses_of(out, batch):
    return {
        "identity": F.cross_entropy(out["identity"], batch["identity"]),
        "age": F.l1_loss(out["age"][:, 0], batch["age"]),
        "smile": F.cross_entropy(out["smile"], batch["smile"]),
        "pose": F.mse_loss(out["pose"], batch["pose"]),
    }


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value):
        self.sum, self.count = self.sum + value, self.count + 1


class Engine:
    def __init__(self, model, joint):
        self.model, self.joint = model, joint
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        self.meters = defaultdict(AverageMeter)

    def backpropagate_tasks(self, losses):
        if self.joint:
            sum(WEIGHTS[name] * loss for name, loss in losses.items()).backward()
            return
        for name, loss in losses.items():
            (WEIGHTS[name] * loss).backward(retain_graph=True)  # planted

    def train_batch(self, batch):
        self.optimizer.zero_grad()
        losses = losses_of(self.model(batch["image"]), batch)
        self.backpropagate_tasks(losses)
        self.optimizer.step()
        for name, loss in losses.items():
            self.meters[name].update(loss.detach())


def main(clock):
    clock.plan(3, 3)
    torch.manual_seed(0)
    engine = Engine(FaceNet(), joint=clock.fixed)
    size = 32
    batch = {
        "image": torch.rand(size, 3, 64, 64),
        "identity": torch.randint(0, 200, (size,)),
        "age": 80 * torch.rand(size),
        "smile": torch.randint(0, 2, (size,)),
        "pose": torch.randn(size, 3),
    }
    for step in clock.loop():
        with clock.mark(step):
            engine.train_batch(batch)


if __name__ == "__main__":
    run(main)
