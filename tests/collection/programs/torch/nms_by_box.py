import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from clock import run
from detector.boxes import fast_non_max_suppression, non_max_suppression

LABEL = {
    "planted": "non-maximum suppression compares boxes pair by pair in Python, in the user's own module",
    "cause": "Python loop after the model",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["non_max_suppression", "iou", "boxes.py"],
    "part": "develop",
}


class Detector(nn.Module):
    def __init__(self, anchors=3):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU()
        )
        self.head = nn.Conv2d(64, anchors * 5, 1)

    def forward(self, images):
        out = self.head(self.backbone(images)).flatten(2)
        out = out.reshape(len(images), 3, 5, -1).permute(0, 1, 3, 2).reshape(len(images), -1, 5)
        centre = torch.rand_like(out[..., :2]) * 160
        size = 16 + 24 * out[..., 2:4].sigmoid()
        return torch.cat([centre - size / 2, centre + size / 2], -1), out[..., 4]


@torch.no_grad()
def detect(model, images, nms, top=250):
    boxes, scores = model(images)
    found = []
    for b, s in zip(boxes, scores):
        s, index = s.topk(top)
        b = b[index]
        if nms is non_max_suppression:
            keep = nms(b.tolist(), s.tolist())  # planted
        else:
            keep = nms(b.numpy(), s.numpy())
        found.append(b[keep])
    return found


def main(clock):
    clock.plan(2, 5)
    torch.manual_seed(0)
    model = Detector().eval()
    nms = fast_non_max_suppression if clock.fixed else non_max_suppression
    count = 0
    for step in clock.loop():
        with clock.mark(step, "detect"):
            images = torch.rand(4, 3, 224, 224)
            count += sum(len(boxes) for boxes in detect(model, images, nms))


if __name__ == "__main__":
    run(main)
