import numpy as np


def iou(a, b):
    left, top = max(a[0], b[0]), max(a[1], b[1])
    right, bottom = min(a[2], b[2]), min(a[3], b[3])
    inter = max(right - left, 0.0) * max(bottom - top, 0.0)
    area_a = (a[2] - a[0]) * (a[3] - a[1])
    area_b = (b[2] - b[0]) * (b[3] - b[1])
    return inter / (area_a + area_b - inter + 1e-9)


def non_max_suppression(boxes, scores, threshold=0.5):
    """Keep the best box of every group that overlaps."""
    order = sorted(range(len(scores)), key=lambda i: scores[i], reverse=True)
    keep = []
    while order:
        best = order.pop(0)
        keep.append(best)
        order = [i for i in order if iou(boxes[best], boxes[i]) <= threshold]
    return keep


def fast_non_max_suppression(boxes, scores, threshold=0.5):
    """The same on whole arrays."""
    order = np.argsort(-scores, kind="stable")
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    keep = []
    while order.size:
        best, rest = order[0], order[1:]
        keep.append(int(best))
        low = np.maximum(boxes[best, :2], boxes[rest, :2])
        high = np.minimum(boxes[best, 2:], boxes[rest, 2:])
        inter = np.clip(high - low, 0, None).prod(1)
        order = rest[inter / (area[best] + area[rest] - inter + 1e-9) <= threshold]
    return keep
