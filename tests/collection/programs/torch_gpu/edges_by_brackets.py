"""Citations: a message-passing network over a graph where few papers are cited by many."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "nodes are gathered for edges with h[source]: the backward pass of such an index sorts all edges and adds up those of one node one after the other, where index_select adds them at once",
    "cause": "a slow op where a fast one does the same",
    "accept": ["largest-part", "dominant-op", "roofline-gap"],
    "rules": [],
    "words": ["Messages", "aten::index", "IndexBackward0", "aten::_index_put_impl_", "aten::index_put_", "indexing_backward", "RadixSort"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
NODES, EDGES, WIDTH, LAYERS, TOPICS = (20000, 300000, 128, 3, 40) if BIG else (100, 500, 8, 2, 5)


class Messages(nn.Module):
    def __init__(self, brackets):
        super().__init__()
        self.brackets = brackets
        self.message = nn.Sequential(nn.Linear(2 * WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
        self.update, self.norm = nn.Linear(2 * WIDTH, WIDTH), nn.LayerNorm(WIDTH)

    def ends(self, h, source, target):
        if self.brackets:
            return torch.cat([h[source], h[target]], 1)  # planted
        return torch.cat([h.index_select(0, source), h.index_select(0, target)], 1)

    def forward(self, h, source, target):
        messages = self.message(self.ends(h, source, target))
        near = torch.zeros_like(h).index_add(0, target, messages.to(h.dtype))
        return self.norm(h + F.relu(self.update(torch.cat([h, near], 1))))


class Citations(nn.Module):
    def __init__(self, brackets):
        super().__init__()
        self.first = nn.Linear(64, WIDTH)
        self.layers = nn.ModuleList([Messages(brackets) for _ in range(LAYERS)])
        self.last = nn.Linear(WIDTH, TOPICS)

    def forward(self, x, source, target):
        h = self.first(x).float()
        for layer in self.layers:
            h = layer(h, source, target).float()
        return self.last(h)


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model = Citations(brackets=not clock.fixed)
        source = (NODES * torch.rand(EDGES) ** 2.2).long()
        target = torch.randint(NODES, (EDGES,))
        papers, topics = torch.randn(NODES, 64), torch.randint(TOPICS, (NODES,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=True)
    for step in clock.loop():
        with clock.mark(step):
            with torch.autocast(DEVICE, torch.bfloat16):
                loss = F.cross_entropy(model(papers, source, target), topics)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    run(main)
