import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "set_detect_anomaly left on after a debugging session",
    "cause": "a debugging mode left on",
    "accept": ["anomaly-mode", "debug-mode"],
    "rules": ["anomaly-mode", "debug-mode"],
    "words": ["isnan", "anomaly", "format_stack", "extract_stack", "traceback", "linecache"],
    "part": "develop",
}


def main(clock):
    clock.plan(3, 5)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(12)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(32, 64)
    with torch.autograd.set_detect_anomaly(not clock.fixed):  # planted
        for step in clock.loop():
            with clock.mark(step):
                optimizer.zero_grad()
                loss = model(x).square().mean()
                loss.backward()
                optimizer.step()


if __name__ == "__main__":
    run(main)
