"""Trees from the air: boxes in the files of an annotation tool, a heat map of their centers."""
import os
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the dataset opens and parses the XML of a picture's boxes each time the picture is drawn",
    "cause": "input pipeline",
    "accept": ["largest-part", "input-bound", "python-bound", "file-reads"],
    "rules": ["input-bound", "python-bound", "file-reads"],
    "words": ["read_boxes", "ElementTree", "XMLParser", "__getitem__", "findtext"],
    "part": "score",
}

TILE, CELLS = 64, 16
OBJECT = (
    "<object><name>tree</name><pose>Unspecified</pose><truncated>0</truncated><difficult>0</difficult>"
    "<bndbox><xmin>{0}</xmin><ymin>{1}</ymin><xmax>{2}</xmax><ymax>{3}</ymax></bndbox></object>"
)


def write_annotations(folder, count):
    os.makedirs(folder, exist_ok=True)
    pick = torch.Generator().manual_seed(0)
    for i in range(count):
        boxes = torch.randint(0, TILE - 6, (60, 2), generator=pick).tolist()
        objects = "".join(OBJECT.format(x, y, x + 5, y + 5) for x, y in boxes)
        Path(folder, f"{i:05}.xml").write_text(f"<annotation><filename>{i}.tif</filename>{objects}</annotation>")


class Trees(Dataset):
    def __init__(self, folder, count, keep):
        self.folder, self.count = folder, count
        self.images = torch.rand(count, 3, TILE, TILE)
        self.boxes = [self.read_boxes(i) for i in range(count)] if keep else None

    def read_boxes(self, i):
        root = ElementTree.parse(os.path.join(self.folder, f"{i:05}.xml")).getroot()  # planted
        found = []
        for one in root.iter("object"):
            box = one.find("bndbox")
            found.append([int(float(box.findtext(side))) for side in ("xmin", "ymin", "xmax", "ymax")])  # planted
        return torch.tensor(found)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        boxes = self.read_boxes(i) if self.boxes is None else self.boxes[i]  # planted
        centers = (boxes[:, :2] + boxes[:, 2:]) // 2 * CELLS // TILE
        heat = torch.zeros(CELLS, CELLS)
        heat[centers[:, 1], centers[:, 0]] = 1.0
        return self.images[i], heat


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    folder = os.path.join(clock.folder, "annotations")
    write_annotations(folder, 96)
    loader = DataLoader(Trees(folder, 96, keep=clock.fixed), batch_size=16, shuffle=True)
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 24, 3, 2, 1), nn.ReLU(), nn.Conv2d(24, 24, 3, 1, 1), nn.ReLU(), nn.Conv2d(24, 1, 1)
    )
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    step = 0
    while True:
        for images, heat in loader:
            if clock.tick(step):
                return
            with clock.mark(step):
                loss = nn.functional.binary_cross_entropy_with_logits(net(images)[:, 0], heat)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            step += 1


if __name__ == "__main__":
    run(main)
