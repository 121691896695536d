"""Stochastic volatility of returns by a bootstrap particle filter."""
import sys
from pathlib import Path

import torch
from torch.distributions import Categorical, Normal, StudentT

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "torch.distributions validates the arguments and values of thousands of small distributions, as it does by default",
    "cause": "checks of arguments in the loop",
    "accept": ["largest-part", "python-bound", "tiny-ops", "tiny-kernels", "eager-execution", "launch-bound", "host-waits"],
    "rules": ["python-bound", "tiny-ops", "tiny-kernels", "eager-execution", "launch-bound", "host-waits"],
    "words": ["validate_args", "_validate_sample", "constraints", "aten::all", "aten::is_nonzero", "distribution.py", "aten::item", "aten::_local_scalar_dense"],
    "part": "develop",
}

PARTICLES, SERIES = 64, 8


class ParticleFilter:
    def __init__(self, decay=0.95, spread=0.3, freedom=6.0):
        self.decay, self.spread, self.freedom = decay, torch.tensor(spread), freedom
        self.level = torch.zeros(SERIES, PARTICLES)

    def move_particles(self):
        self.level = Normal(self.decay * self.level, self.spread).sample()  # planted

    def weigh(self, returns):
        observed = StudentT(self.freedom, 0.0, torch.exp(self.level / 2))  # planted
        return observed.log_prob(returns[:, None])  # planted

    def resample(self, log_weights):
        chosen = Categorical(logits=log_weights).sample((PARTICLES,)).T  # planted
        self.level = self.level.gather(1, chosen)

    def update(self, returns):
        self.move_particles()
        log_weights = self.weigh(returns)
        self.resample(log_weights)
        return log_weights.logsumexp(1).sum()


def log_likelihood(particle_filter, returns):
    total = torch.zeros(())
    for day in returns:
        total += particle_filter.update(day)
    return total


@torch.no_grad()
def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    torch.distributions.Distribution.set_default_validate_args(not clock.fixed)  # planted
    years = torch.randn(12, 12, SERIES) * 0.5
    for step in clock.loop():
        with clock.mark(step):
            log_likelihood(ParticleFilter(), years[step])


if __name__ == "__main__":
    run(main)
