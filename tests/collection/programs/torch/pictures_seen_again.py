"""A picture in the style of another."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each step runs the frozen network on the content and the style, which never change",
    "cause": "a constant computed again",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["targets", "a pass without gradients"],
    "part": "develop",
}


class Features(nn.Module):
    def __init__(self, widths=(3, 16, 16, 32, 32)):
        super().__init__()
        pairs = zip(widths, widths[1:])
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in pairs)

    def forward(self, x):
        found = []
        for conv in self.convs:
            x = F.relu(conv(x))
            found.append(x)
        return found


def gram(maps):
    flat = maps.flatten(2)
    return flat @ flat.transpose(1, 2) / flat[0].numel()


def targets(network, content, style):
    return network(content)[-1], [gram(one) for one in network(style)]  # planted


def main(clock):
    clock.plan(2, 6)
    torch.manual_seed(0)
    network = Features().eval()
    for one in network.parameters():
        one.requires_grad_(False)
    content, style = torch.rand(2, 1, 3, 64, 64)
    picture = content.clone().requires_grad_()
    optimizer = torch.optim.Adam([picture], lr=0.02)
    wanted = targets(network, content, style)
    for step in clock.loop():
        with clock.mark(step):
            if not clock.fixed:
                wanted = targets(network, content, style)  # planted
            seen = network(picture)
            loss = F.mse_loss(seen[-1], wanted[0])
            loss = loss + 1e4 * sum(F.mse_loss(gram(a), b) for a, b in zip(seen, wanted[1]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
