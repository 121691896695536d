"""Self-supervised depth: a net guesses depth, the next frame is warped by it and compared."""
import sys
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the camera's matrix is expanded to every pixel and inverted there, thousands of times the same three by three",
    "cause": "the same computed for every element",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["back_project", "linalg_inv", "linalg_inv_ex", "lu_factor", "linalg_solve_ex", "aten::inverse"],
    "part": "score",
}

H, W = 64, 96


class DepthNet(nn.Module):
    def __init__(self, c=6):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, c, 5, 2, 2), nn.ELU(), nn.Conv2d(c, 2 * c, 3, 2, 1), nn.ELU())
        self.up = nn.Sequential(nn.Conv2d(2 * c, c, 3, 1, 1), nn.ELU(), nn.Conv2d(c, 1, 3, 1, 1))

    def forward(self, image):
        x = F.interpolate(self.up(self.down(image)), size=(H, W), mode="bilinear", align_corners=False)
        return 1 / (0.1 + 9.9 * torch.sigmoid(x[:, 0]))


def pixel_grid():
    v, u = torch.meshgrid(torch.arange(H), torch.arange(W), indexing="ij")
    return torch.stack([u, v, torch.ones_like(u)], -1).float().reshape(-1, 3)


def back_project(depth, camera, pixels, once):
    if once:
        rays = pixels @ torch.linalg.inv(camera).T
    else:
        cameras = camera.expand(len(depth), len(pixels), 3, 3)
        rays = (torch.linalg.inv(cameras) @ pixels[:, :, None])[..., 0]  # planted
    return rays * depth.reshape(len(depth), -1, 1)


def project(points, camera, pose):
    seen = (points @ pose[:, :3, :3].transpose(1, 2) + pose[:, None, :3, 3]) @ camera.T
    uv = seen[..., :2] / seen[..., 2:].clamp(min=0.1)
    scale = torch.tensor([2 / (W - 1), 2 / (H - 1)])
    return (uv * scale - 1).view(-1, H, W, 2)


def photometric(a, b):
    return (a - b).abs().mean() + 0.5 * (F.avg_pool2d(a, 3, 1) - F.avg_pool2d(b, 3, 1)).abs().mean()


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    net, pixels = DepthNet(), pixel_grid()
    optimizer = torch.optim.Adam(net.parameters(), 1e-4)
    camera = torch.tensor([[0.58 * W, 0, W / 2], [0, 1.92 * H, H / 2], [0, 0, 1.0]])
    pose = torch.eye(4).repeat(2, 1, 1)
    pose[:, 2, 3] = 0.1
    for step in clock.loop():
        with clock.mark(step):
            now, following = torch.rand(2, 3, H, W), torch.rand(2, 3, H, W)
            depth = net(now)
            points = back_project(depth, camera, pixels, clock.fixed)
            warped = F.grid_sample(following, project(points, camera, pose), align_corners=True)
            loss = photometric(warped, now)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
