"""BYOL-like speech features: a student follows a moving average of itself."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "for each parameter of the student a dict of all parameters of the teacher is made, to take the one with its name",
    "cause": "quadratic Python",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound"],
    "words": ["follow", "named_parameters", "_named_members", "named_modules"],
    "part": "develop",
}

MELS, WIDTH, DEPTH = 40, 48, 16


class Layer(nn.Module):
    def __init__(self, dilation):
        super().__init__()
        self.norm = nn.GroupNorm(4, WIDTH)
        self.conv = nn.Conv1d(WIDTH, WIDTH, 3, padding=dilation, dilation=dilation)
        self.mix = nn.Conv1d(WIDTH, WIDTH, 1)

    def forward(self, x):
        return x + self.mix(torch.relu(self.conv(self.norm(x))))


class SpeechEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv1d(MELS, WIDTH, 5, 2, 2)
        self.layers = nn.ModuleList(Layer(2 ** (i % 4)) for i in range(DEPTH))
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        return self.out(x.mean(-1))


class MovingAverage:
    def __init__(self, teacher, momentum=0.99):
        self.teacher, self.momentum = teacher, momentum

    @torch.no_grad()
    def follow(self, student):
        for name, parameter in student.named_parameters():
            dict(self.teacher.named_parameters())[name].lerp_(parameter, 1 - self.momentum)  # planted

    @torch.no_grad()
    def follow_at_once(self, student):
        torch._foreach_lerp_(list(self.teacher.parameters()), list(student.parameters()), 1 - self.momentum)


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    student, teacher = SpeechEncoder(), SpeechEncoder().requires_grad_(False)
    teacher.load_state_dict(student.state_dict())
    average = MovingAverage(teacher)
    follow = average.follow_at_once if clock.fixed else average.follow
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-3, fused=True)
    speech = torch.randn(8, MELS, 60)
    for step in clock.loop():
        with clock.mark(step):
            masked = speech * (torch.rand(8, 1, 60) > 0.3)
            with torch.no_grad():
                target = teacher(speech)
            loss = nn.functional.mse_loss(student(masked), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            follow(student)


if __name__ == "__main__":
    run(main)
