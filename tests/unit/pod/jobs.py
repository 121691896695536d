"""Tables of operations of pipelines, simulated event by event: the truth that replays must find.

Nothing here knows of schedules or replays: stages run their micro-batches in a fixed order, each
as soon as the stage is free and its message is there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

Key = tuple[str, int, int]  # direction, part of the model on the stage, micro-batch


@dataclass
class Job:
    """A job's shape, and how long a micro-batch takes: (replica, stage, step) → factor."""

    stages: int = 2
    replicas: int = 2
    batches: int = 4
    parts: int = 1
    steps: int = 2
    message_s: float = 0.01
    slow: dict[tuple[int, int, int], float] = field(default_factory=dict)

    def compute_s(self, direction: str, replica: int, stage: int, step: int) -> float:
        return {"forward": 1.0, "backward": 2.0}[direction] * self.slow.get(
            (replica, stage, step), 1.0
        )

    def order(self, stage: int) -> list[Key]:
        """1F1B with one part of the model on each stage, else all forward before all backward."""
        forward = [("forward", p, b) for p in range(self.parts) for b in range(self.batches)]
        backward = [
            ("backward", p, b) for p in reversed(range(self.parts)) for b in range(self.batches)
        ]
        if self.parts > 1:
            return forward + backward
        warm = min(self.stages - stage - 1, self.batches)
        found = forward[:warm]
        for place in range(self.batches - warm):
            found += [forward[warm + place], backward[place]]
        return found + backward[self.batches - warm :]

    def table(self) -> pl.DataFrame:
        """One row per operation, as recorders inside of frameworks write it."""
        rows = [row for step in range(self.steps) for row in self.step(step)]
        return pl.DataFrame(rows).with_columns(pl.col("start_ts") + 0.0)

    def step(self, step: int) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        ends = [self.pipeline(step, replica, rows) for replica in range(self.replicas)]
        # Gradients of a stage are exchanged by its replicas, then all clip and step together.
        reduced = [
            max(ends[replica][stage] for replica in range(self.replicas)) + 0.5
            for stage in range(self.stages)
        ]
        clipped = max(reduced) + 0.1
        for replica in range(self.replicas):
            for stage in range(self.stages):
                here = step, replica, stage
                last = ends[replica][stage]
                rows += [
                    _row(*here, "grads-reduce-scatter", last, reduced[stage]),
                    _row(*here, "optimizer-clip-main-grad", reduced[stage], clipped),
                    _row(*here, "optimizer", clipped, clipped + 0.2),
                ]
        return rows

    def pipeline(self, step: int, replica: int, rows: list[dict[str, Any]]) -> list[float]:
        """One replica's micro-batches and messages; when each stage's last one ends."""
        orders = [self.order(stage) for stage in range(self.stages)]
        total = self.stages * self.parts
        begin: dict[tuple[int, Key], float] = {}
        end: dict[tuple[int, Key], float] = {}
        place = [0] * self.stages
        free = [0.0] * self.stages
        posted = {
            (stage, way): 0.0 for stage in range(self.stages) for way in ("forward", "backward")
        }
        arrived: dict[tuple[int, Key], tuple[float, float]] = {}
        while any(place[stage] < len(orders[stage]) for stage in range(self.stages)):
            before = sum(place)
            for stage in range(self.stages):
                while place[stage] < len(orders[stage]):
                    key = orders[stage][place[stage]]
                    way, part, batch = key
                    whole = part * self.stages + stage
                    other = whole + (-1 if way == "forward" else 1)
                    ready = posted[stage, way]
                    if 0 <= other < total:
                        sent = other % self.stages, (way, other // self.stages, batch)
                        if sent not in end:
                            break
                        arrived[stage, key] = ready, max(ready, end[sent]) + self.message_s
                        ready = arrived[stage, key][1]
                    begin[stage, key] = max(free[stage], ready)
                    end[stage, key] = begin[stage, key] + self.compute_s(way, replica, stage, step)
                    free[stage] = posted[stage, way] = end[stage, key]
                    place[stage] += 1
            assert sum(place) > before, "the orders of the stages wait for each other"
        for (stage, key), first in begin.items():
            way, part, _batch = key
            here = {"mc": part, "gmc": part * self.stages + stage}
            rows.append(_row(step, replica, stage, f"{way}-compute", first, end[stage, key]) | here)
            whole = part * self.stages + stage
            target = whole + (1 if way == "forward" else -1)
            if 0 <= target < total:
                got = arrived[target % self.stages, (way, target // self.stages, key[2])][1]
                rows.append(_row(step, replica, stage, f"{way}-send", end[stage, key], got))
            elif self.parts > 1:
                last = end[stage, key]
                rows.append(_row(step, replica, stage, f"{way}-send", last, last))
            if (stage, key) in arrived:
                rows.append(_row(step, replica, stage, f"{way}-recv", *arrived[stage, key]))
            elif self.parts > 1:
                rows.append(_row(step, replica, stage, f"{way}-recv", first, first))
        return [max(end[stage, key] for key in orders[stage]) for stage in range(self.stages)]


def _row(
    step: int, replica: int, stage: int, kind: str, start: float, end: float
) -> dict[str, Any]:
    return {
        "step": step,
        "dp_rank": replica,
        "stage": stage,
        "rank": stage * 100 + replica,
        "optype": kind,
        "start_ts": start,
        "duration": end - start,
        "mc": 0,
        "gmc": -1,
    }


def makespan(table: pl.DataFrame) -> float:
    """Mean over steps of the time from the first begin to the last end."""
    ends = table.group_by("step").agg((pl.col("start_ts") + pl.col("duration")).max().alias("end"))
    return float(np.mean(ends["end"].to_numpy()))
