import sys
from pathlib import Path

import networkx as nx
import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse.csgraph import laplacian
from torch import nn
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "collate_fn decomposes the Laplacian of each graph in every epoch, for position encodings that never change",
    "cause": "constant data computed again in the input pipeline",
    "accept": [
        "largest-part",
        "input-bound",
        "loader-workers",
        "python-in-pipeline",
        "no-cache",
        "python-bound",
        "host-input-limit",
    ],
    "rules": ["input-bound", "loader-workers", "python-in-pipeline", "no-cache"],
    "words": ["eigh", "laplacian", "laplacian_pe", "collate_fn", "collate"],
    "part": "develop",
}

CONFIG = {"nodes": 144, "atoms": 28, "pe": 8, "width": 64, "layers": 3, "batch_size": 10}


class Peptides(Dataset):
    """Random graphs with a property to predict."""

    def __init__(self, count, config, pre_transform=None):
        rng = np.random.default_rng(0)
        self.graphs = []
        for seed in range(count):
            graph = nx.random_regular_graph(3, config["nodes"], seed=seed)
            atoms = torch.from_numpy(rng.integers(0, config["atoms"], config["nodes"]))
            adjacency = torch.from_numpy(nx.to_numpy_array(graph, dtype=np.float32))
            pe = pre_transform(adjacency) if pre_transform else None
            self.graphs.append((atoms, adjacency, pe, float(rng.normal())))

    def __len__(self):
        return len(self.graphs)

    def __getitem__(self, index):
        return self.graphs[index]


def laplacian_pe(adjacency, size):
    """The eigenvectors of the smallest eigenvalues but the first."""
    values, vectors = np.linalg.eigh(laplacian(adjacency.numpy(), normed=True))  # planted
    order = np.argsort(values)[1 : size + 1]
    return torch.from_numpy(vectors[:, order])


def make_collate(config):
    def collate(samples):
        atoms, adjacency, known, targets = zip(*samples)
        if known[0] is None:
            known = [laplacian_pe(one, config["pe"]) for one in adjacency]  # planted
        pe = torch.stack(list(known)).float()
        pe = pe * (2 * torch.randint(0, 2, (len(samples), 1, config["pe"])) - 1)
        return torch.stack(atoms), torch.stack(adjacency), pe, torch.tensor(targets)

    return collate


class GINELayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, x, adjacency):
        return x + F.relu(self.norm(self.mlp((1 + self.eps) * x + adjacency @ x)))


class GraphNet(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["width"]
        self.atom = nn.Embedding(config["atoms"], width)
        self.position = nn.Linear(config["pe"], width)
        self.layers = nn.ModuleList(GINELayer(width) for _ in range(config["layers"]))
        self.head = nn.Linear(width, 1)

    def forward(self, atoms, adjacency, pe):
        x = self.atom(atoms) + self.position(pe)
        for layer in self.layers:
            x = layer(x, adjacency)
        return self.head(x.mean(1)).squeeze(1)


def endless(loader):
    while True:
        yield from loader


def main(clock):
    clock.plan(3, 2)
    torch.manual_seed(0)
    pre = (lambda one: laplacian_pe(one, CONFIG["pe"])) if clock.fixed else None
    data = Peptides(120, CONFIG, pre)
    loader = DataLoader(
        data, CONFIG["batch_size"], shuffle=True, drop_last=True, collate_fn=make_collate(CONFIG)
    )
    model = GraphNet(CONFIG)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-5)
    batches = endless(loader)
    for step in clock.loop():
        with clock.mark(step):
            atoms, adjacency, pe, target = next(batches)
            loss = F.l1_loss(model(atoms, adjacency, pe), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
