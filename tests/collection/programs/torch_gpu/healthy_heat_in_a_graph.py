"""A heat equation by a physics-informed network; the training step is one CUDA graph."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
POINTS, WIDTH, DEPTH = (65536, 384, 5) if BIG else (64, 16, 2)


class Heat(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = [2] + [WIDTH] * DEPTH + [1]
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.tanh(layer(x))
        return self.layers[-1](x)


class Trainer:
    def __init__(self):
        torch.set_float32_matmul_precision("high")
        self.net = Heat().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3, capturable=BIG, fused=True)
        self.points = torch.rand(POINTS, 2, device=DEVICE, requires_grad=True)
        self.replay = self.captured() if BIG else self.update

    def residual(self):
        u = self.net(self.points)
        (slope,) = torch.autograd.grad(u.sum(), self.points, create_graph=True)
        (bend,) = torch.autograd.grad(slope[:, 0].sum(), self.points, create_graph=True)
        return slope[:, 1] - 0.1 * bend[:, 0]

    def update(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.residual().square().mean().backward(inputs=list(self.net.parameters()))
        self.optimizer.step()

    def captured(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.update()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.update()
        return self.graph.replay

    def step(self):
        with torch.no_grad():
            self.points.uniform_()
        self.replay()


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    trainer = Trainer()
    for step in clock.loop():
        with clock.mark(step):
            trainer.step()

if __name__ == "__main__":
    run(main)
