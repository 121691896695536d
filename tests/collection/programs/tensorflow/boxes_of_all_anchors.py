"""SSD inference over a folder of frames: boxes per second for the report."""
import logging
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "non-maximum suppression compares all anchors of all classes: nothing is dropped by its score first",
    "cause": "a costly op fed too much",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["CombinedNonMaxSuppression", "combined_non_max_suppression"],
    "part": "develop",
}
log = logging.getLogger("detect")


@dataclass
class Config:
    image_size: int = 160
    strides: tuple = (8, 16)
    scales: tuple = (2.0, 3.0)
    ratios: tuple = (0.5, 1.0, 2.0)
    classes: int = 8
    batch: int = 20
    iou: float = 0.5
    score: float = 0.3
    per_class: int = 100


def make_anchors(cfg):
    boxes = []
    for stride in cfg.strides:
        n = cfg.image_size // stride
        centre = (np.arange(n) + 0.5) * stride
        cy, cx = np.meshgrid(centre, centre, indexing="ij")
        for scale in cfg.scales:
            for ratio in cfg.ratios:
                h, w = scale * stride / math.sqrt(ratio), scale * stride * math.sqrt(ratio)
                boxes.append(np.stack([cy - h / 2, cx - w / 2, cy + h / 2, cx + w / 2], -1).reshape(-1, 4))
    return tf.constant(np.concatenate(boxes) / cfg.image_size, tf.float32)


class Conv(tf.Module):
    def __init__(self, cin, cout, k=3, stride=1, bias=0.0):
        super().__init__()
        self.w = tf.Variable(tf.random.normal([k, k, cin, cout], stddev=1 / math.sqrt(k * k * cin)))
        self.b = tf.Variable(tf.fill([cout], bias))
        self.stride = stride

    def __call__(self, x):
        return tf.nn.conv2d(x, self.w, self.stride, "SAME") + self.b


class SSD(tf.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.anchors = make_anchors(cfg)
        k = len(cfg.scales) * len(cfg.ratios)
        self.stem = [Conv(3, 16, stride=2), Conv(16, 32, stride=2), Conv(32, 64, stride=2)]
        self.down = Conv(64, 96, stride=2)
        # Prior as in RetinaNet: nearly all anchors are background.
        self.heads = [(Conv(c, k * 4), Conv(c, k * cfg.classes, bias=-4.0)) for c in (64, 96)]

    def __call__(self, images):
        x = images
        for conv in self.stem:
            x = tf.nn.relu(conv(x))
        maps = [x, tf.nn.relu(self.down(x))]
        n = tf.shape(images)[0]
        deltas, scores = [], []
        for feature, (loc, cls) in zip(maps, self.heads):
            deltas.append(tf.reshape(loc(feature), [n, -1, 4]))
            scores.append(tf.reshape(cls(feature), [n, -1, self.cfg.classes]))
        return tf.concat(deltas, 1), tf.sigmoid(tf.concat(scores, 1) * 2)

    def decode(self, deltas):
        y1, x1, y2, x2 = tf.unstack(self.anchors, axis=-1)
        h, w = y2 - y1, x2 - x1
        cy, cx = (y1 + y2) / 2 + deltas[..., 0] * 0.1 * h, (x1 + x2) / 2 + deltas[..., 1] * 0.1 * w
        h, w = h * tf.exp(0.2 * deltas[..., 2]), w * tf.exp(0.2 * deltas[..., 3])
        return tf.stack([cy - h / 2, cx - w / 2, cy + h / 2, cx + w / 2], -1)


class Predictor:
    def __init__(self, cfg, drop_low):
        self.cfg, self.net, self.drop_low = cfg, SSD(cfg), drop_low

    @tf.function
    def detect(self, images):
        deltas, scores = self.net(images)
        boxes = self.net.decode(deltas)
        return self.suppress(boxes, scores)

    def suppress(self, boxes, scores):
        cfg = self.cfg
        limit = cfg.score if self.drop_low else float("-inf")
        return tf.image.combined_non_max_suppression(boxes[:, :, None], scores, cfg.per_class, cfg.per_class, cfg.iou, limit)  # planted


def main(clock):
    clock.plan(4, 8)
    cfg = Config()
    tf.random.set_seed(1)
    predictor = Predictor(cfg, drop_low=clock.fixed)
    frames = np.random.default_rng(0).random((64, cfg.image_size, cfg.image_size, 3), "float32")
    ds = tf.data.Dataset.from_tensor_slices(frames).repeat().batch(cfg.batch, drop_remainder=True).prefetch(4)
    it = iter(ds)
    found = 0
    for step in clock.loop():
        with clock.mark(step, "detect"):
            boxes, scores, classes, valid = predictor.detect(next(it))
            found += int(tf.reduce_sum(valid))
    log.info("%d boxes", found)


if __name__ == "__main__":
    run(main)
