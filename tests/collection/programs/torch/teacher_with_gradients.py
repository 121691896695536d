import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the teacher's logits are not detached, so that its gradients are computed, too",
    "cause": "gradients that nobody uses",
    "accept": ["unused-gradients"],
    "rules": ["unused-gradients"],
    "words": ["teacher"],
    "part": "develop",
}


def conv_net(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2 * width, 10),
    )


def distillation_loss(student_logits, teacher_logits, labels, temperature=4.0, alpha=0.7):
    soft = F.kl_div(
        F.log_softmax(student_logits / temperature, dim=1),
        F.softmax(teacher_logits / temperature, dim=1),
        reduction="batchmean",
    )
    hard = F.cross_entropy(student_logits, labels)
    return alpha * temperature**2 * soft + (1 - alpha) * hard


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    teacher, student = conv_net(32), conv_net(8)
    teacher.eval()
    optimizer = torch.optim.SGD(student.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.rand(16, 3, 32, 32), torch.randint(10, (16,))
    for step in clock.loop():
        with clock.mark(step):
            with torch.set_grad_enabled(not clock.fixed):
                teacher_logits = teacher(images)  # planted
            loss = distillation_loss(student(images), teacher_logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
