import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "code vectors are looked up by a product with a one-hot matrix of all codes",
    "cause": "a look-up as a matrix product",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["quantize", "aten::mm", "scatter_", "encodings"],
    "part": "develop",
}


class Residual(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self.block = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(channels, hidden, 3, padding=1, bias=False),
            nn.ReLU(),
            nn.Conv2d(hidden, channels, 1, bias=False),
        )

    def forward(self, x):
        return x + self.block(x)


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost, by_index):
        super().__init__()
        self.codes = num_embeddings
        self.dim = embedding_dim
        self.embedding = nn.Embedding(num_embeddings, embedding_dim)
        self.embedding.weight.data.uniform_(-1 / num_embeddings, 1 / num_embeddings)
        self.commitment_cost = commitment_cost
        self.by_index = by_index

    def quantize(self, indices):
        encodings = torch.zeros(len(indices), self.codes)  # planted
        encodings.scatter_(1, indices.unsqueeze(1), 1)  # planted
        return torch.matmul(encodings, self.embedding.weight), encodings.mean(0)  # planted

    def forward(self, inputs):
        inputs = inputs.permute(0, 2, 3, 1).contiguous()
        flat = inputs.view(-1, self.dim)
        with torch.no_grad():
            weight = self.embedding.weight
            distances = (weight**2).sum(1) - 2 * torch.matmul(flat, weight.t())
            indices = distances.argmin(1)
        if self.by_index:
            quantized = self.embedding(indices)
            used = torch.bincount(indices, minlength=self.codes).float() / len(indices)
        else:
            quantized, used = self.quantize(indices)
        quantized = quantized.view(inputs.shape)
        e_loss = F.mse_loss(quantized.detach(), inputs)
        q_loss = F.mse_loss(quantized, inputs.detach())
        quantized = inputs + (quantized - inputs).detach()
        perplexity = torch.exp(-torch.sum(used * torch.log(used + 1e-10)))
        loss = q_loss + self.commitment_cost * e_loss
        return loss, quantized.permute(0, 3, 1, 2).contiguous(), perplexity


class Model(nn.Module):
    def __init__(self, by_index):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), Residual(64, 16)
        )
        self.vq = VectorQuantizer(1024, 64, 0.25, by_index)
        self.decoder = nn.Sequential(
            Residual(64, 16), nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(32, 3, 4, 2, 1),
        )  # fmt: skip

    def forward(self, x):
        loss, quantized, perplexity = self.vq(self.encoder(x))
        return loss, self.decoder(quantized), perplexity


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    model = Model(by_index=clock.fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = torch.rand(64, 3, 32, 32) - 0.5
    variance = data.var()
    train_res_recon_error, train_res_perplexity = [], []
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            vq_loss, recon, perplexity = model(data)
            recon_error = F.mse_loss(recon, data) / variance
            (recon_error + vq_loss).backward()
            optimizer.step()
            train_res_recon_error.append(recon_error.detach())
            train_res_perplexity.append(perplexity.detach())


if __name__ == "__main__":
    run(main)
