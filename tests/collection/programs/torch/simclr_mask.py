import sys
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "positives and negatives are taken out of the similarity matrix by boolean masks, in the contrastive loss",
    "cause": "gathering by boolean masks",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["info_nce_loss", "nonzero", "aten::index", "index_put", "IndexBackward"],
    "part": "develop",
}

args = SimpleNamespace(batch_size=512, n_views=2, temperature=0.07, out_dim=128, lr=3e-4)


class ResNetSimCLR(nn.Module):
    def __init__(self, out_dim):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
            nn.Conv2d(8, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )  # fmt: skip
        self.fc = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, out_dim))

    def forward(self, x):
        return self.fc(self.backbone(x))


class SimCLR:
    def __init__(self, model, optimizer, scheduler):
        self.model, self.optimizer, self.scheduler = model, optimizer, scheduler
        self.criterion = nn.CrossEntropyLoss()

    def info_nce_loss(self, features):
        labels = torch.cat([torch.arange(args.batch_size) for _ in range(args.n_views)], dim=0)
        labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
        features = F.normalize(features, dim=1)
        similarity_matrix = torch.matmul(features, features.T)
        mask = torch.eye(labels.shape[0], dtype=torch.bool)
        labels = labels[~mask].view(labels.shape[0], -1)  # planted
        similarity_matrix = similarity_matrix[~mask].view(similarity_matrix.shape[0], -1)  # planted
        positives = similarity_matrix[labels.bool()].view(labels.shape[0], -1)  # planted
        negatives = similarity_matrix[~labels.bool()].view(similarity_matrix.shape[0], -1)  # planted
        logits = torch.cat([positives, negatives], dim=1)
        return logits / args.temperature, torch.zeros(logits.shape[0], dtype=torch.long)

    def in_batch_loss(self, features):
        features = F.normalize(features, dim=1)
        logits = features @ features.T / args.temperature
        logits.fill_diagonal_(float("-inf"))
        return logits, torch.arange(len(features)).roll(args.batch_size)

    def train(self, images, clock):
        objective = self.in_batch_loss if clock.fixed else self.info_nce_loss
        for step in clock.loop():
            with clock.mark(step):
                logits, labels = objective(self.model(torch.cat(images, dim=0)))
                loss = self.criterion(logits, labels)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    model = ResNetSimCLR(args.out_dim)
    optimizer = torch.optim.Adam(model.parameters(), args.lr, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=1000)
    view = torch.rand(args.batch_size, 3, 24, 24)
    images = [view, (view + 0.1 * torch.randn_like(view)).flip(3)]
    SimCLR(model, optimizer, scheduler).train(images, clock)


if __name__ == "__main__":
    run(main)
