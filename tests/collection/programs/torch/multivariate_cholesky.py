import sys
from pathlib import Path

import torch
from torch import nn
from torch.distributions import Independent, MultivariateNormal, Normal, kl_divergence

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a diagonal posterior is written as a full MultivariateNormal, which factorises a matrix per sample",
    "cause": "needless linear algebra",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["MultivariateNormal", "cholesky", "triangular", "posterior", "diag_embed", "kl_divergence"],
    "part": "develop",
}


class VAE(nn.Module):
    def __init__(self, latent=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 256), nn.ReLU(), nn.Linear(256, 784))
        self.latent = latent

    def posterior(self, x):
        mean, log_variance = self.encoder(x).chunk(2, -1)
        return MultivariateNormal(mean, covariance_matrix=torch.diag_embed(log_variance.exp()))  # planted

    def prior(self, x):
        return MultivariateNormal(torch.zeros(self.latent), torch.eye(self.latent))

    def loss(self, x):
        q = self.posterior(x)
        z = q.rsample()
        reconstruction = nn.functional.binary_cross_entropy_with_logits(self.decoder(z), x, reduction="sum")
        return (reconstruction + kl_divergence(q, self.prior(x)).sum()) / len(x)  # planted


class DiagonalVAE(VAE):
    def posterior(self, x):
        mean, log_variance = self.encoder(x).chunk(2, -1)
        return Independent(Normal(mean, (log_variance / 2).exp()), 1)

    def prior(self, x):
        return Independent(Normal(torch.zeros(self.latent), torch.ones(self.latent)), 1)


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    model = (DiagonalVAE if clock.fixed else VAE)()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = torch.rand(4096, 784)
    for step in clock.loop():
        with clock.mark(step):
            x = data[torch.randint(0, 4096, (256,))]
            optimizer.zero_grad()
            loss = model.loss(x)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
