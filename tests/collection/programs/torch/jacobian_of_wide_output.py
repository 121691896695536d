import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, jacfwd, jacrev, vmap

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "reverse-mode Jacobians of a function with four inputs and two hundred outputs",
    "cause": "the wrong mode of differentiation",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["jacrev", "sensitivities", "vjp"],
    "part": "develop",
}

WAVELENGTHS = 200
DESIGN = 4


class Surrogate(nn.Module):
    """Geometry of a grating to its spectrum."""

    def __init__(self, width=96):
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.Linear(DESIGN, width), nn.Linear(width, width), nn.Linear(width, WAVELENGTHS)]
        )

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.tanh(layer(x))
        return torch.sigmoid(self.layers[-1](x))


def physics(design):
    grid = torch.linspace(0, 3, WAVELENGTHS)
    return 0.5 + 0.5 * torch.sin(design[..., :1] * 3 * grid + design[..., 1:2]) * design[..., 2:3]


class SobolevTrainer:
    def __init__(self, model, mode, weight=0.1):
        self.model, self.mode, self.weight = model, mode, weight
        self.params = {k: v.detach().requires_grad_() for k, v in model.named_parameters()}
        self.optimizer = torch.optim.Adam(self.params.values(), lr=1e-3)

    def predict(self, params, x):
        return functional_call(self.model, params, (x,))

    def sensitivities(self, designs):
        per_design = self.mode(self.predict, argnums=1)
        return vmap(per_design, in_dims=(None, 0))(self.params, designs)  # planted

    def step(self, designs, spectra, slopes):
        loss = F.mse_loss(self.predict(self.params, designs), spectra)
        few = designs[: len(slopes)]
        loss = loss + self.weight * F.mse_loss(self.sensitivities(few), slopes)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    designs = torch.rand(3072, DESIGN)
    slopes = vmap(jacfwd(physics))(designs[:48])
    trainer = SobolevTrainer(Surrogate(), jacfwd if clock.fixed else jacrev)
    history = []
    for step in clock.loop():
        with clock.mark(step):
            history.append(trainer.step(designs, physics(designs), slopes))


if __name__ == "__main__":
    run(main)
