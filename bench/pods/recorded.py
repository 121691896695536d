"""A simulated job as its recordings would have summarised it: one summary for each host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from bench.pods.job import F64, Run
from stepscope.summary.summary import (
    COMMUNICATORS,
    MEETINGS,
    OPS,
    STEPS,
    Columns,
    Summary,
    Who,
    columns_of,
)
from stepscope.tables.steps.attribution import PARTS

_PS = 1e9  # to the ms


@dataclass(frozen=True)
class Damage:
    """How a pod is recorded.

    Attributes:
        offset_ms: Clocks differ by up to this.
        drift_ppm: Spread of their rates.
        missing: Hosts without a recording.
        numbered: Whether recorders number collectives.
    """

    offset_ms: float = 50.0
    drift_ppm: float = 1.0
    missing: tuple[int, ...] = ()
    numbered: bool = True


def summaries(run: Run, seed: int, damage: Damage = Damage()) -> list[Summary]:
    """The summaries of all hosts that were recorded."""
    layout = run.layout
    random = np.random.default_rng(seed + 1)
    offset = random.uniform(-damage.offset_ms, damage.offset_ms, layout.hosts)
    rate = 1 + random.normal(0, damage.drift_ppm * 1e-6, layout.hosts)
    rows, keys = _rows(run)
    rows = rows.sort(pl.col("rank") // layout.devices, maintain_order=True)
    host = rows["rank"].to_numpy() // layout.devices
    begin = np.searchsorted(host, np.arange(layout.hosts + 1))
    found = []
    for one in range(layout.hosts):
        if one in damage.missing:
            continue
        mine = rows[int(begin[one]) : int(begin[one + 1])]
        ranks = np.arange(one * layout.devices, min((one + 1) * layout.devices, layout.world))
        found.append(_of_host(run, one, ranks, mine, keys, offset[one], rate[one], damage))
    return found


def _rows(run: Run) -> tuple[pl.DataFrame, dict[int, tuple[str, str, int]]]:
    """All collectives by rank, and what the communicators are."""
    layout = run.layout
    rank = np.arange(layout.world).reshape(layout.shape)
    names: dict[str, int] = {}
    described: dict[int, tuple[str, str, int]] = {}
    parts = []
    for event in run.events:
        groups, code = np.unique(event.group, return_inverse=True)
        code = code.reshape(event.group.shape)
        places = []
        for at, one in enumerate(groups.tolist()):
            size = 2 if event.kind == "send_recv" else int((code == at).sum())
            key = f"{event.kind}/{one}/{size}"
            places.append(names.setdefault(key, len(names)))
            described[places[-1]] = key, event.kind, size
        parts.append(
            {
                "rank": rank[event.stage].ravel(),
                "communicator": np.asarray(places)[code].ravel(),
                "number": np.full(code.size, event.number),
                "step": np.full(code.size, event.step),
                "start": event.start.ravel(),
                "end": event.end.ravel(),
                "exposed": event.exposed.ravel(),
            }
        )
    return pl.DataFrame(
        {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    ), described


def _of_host(
    run: Run,
    host: int,
    ranks: np.ndarray,
    rows: pl.DataFrame,
    keys: dict[int, tuple[str, str, int]],
    offset_ms: float,
    rate: float,
    damage: Damage,
) -> Summary:
    layout = run.layout

    def local(time_ms: F64) -> np.ndarray:
        return np.round((time_ms * rate + offset_ms) * _PS).astype(np.int64)

    start = local(rows["start"].to_numpy())
    used, place = np.unique(rows["communicator"].to_numpy(), return_inverse=True)
    device = rows["rank"].to_numpy() - ranks[0]
    order = np.lexsort((start, device))
    meetings = columns_of(
        MEETINGS,
        {
            "device": device[order],
            "communicator": place[order],
            "number": rows["number"].to_numpy()[order],
            "step": rows["step"].to_numpy()[order],
            "start_ps": start[order],
            "duration_ps": (local(rows["end"].to_numpy()) - start)[order],
            "exposed_ps": np.round(rows["exposed"].to_numpy() * _PS).astype(np.int64)[order],
        },
    )
    communicators = columns_of(
        COMMUNICATORS,
        {
            "key": [keys[one][0] for one in used.tolist()],
            "label": [""] * len(used),
            "kind": [keys[one][1] for one in used.tolist()],
            "size": [keys[one][2] for one in used.tolist()],
            "ranks": [[] for _ in used],
            "is_guess": [False] * len(used),
            "numbered": [damage.numbered] * len(used),
        },
    )
    who = Who(
        host=f"rack{host // layout.rack:03d}-node{host:05d}",
        machine=f"rack{host // layout.rack:03d}-node{host:05d}",
        rank=int(ranks[0]),
        world_size=layout.world,
        origin_ns=1_700_000_000_000_000_000,
        devices=tuple(f"GPU:{place}" for place in range(len(ranks))),
        kinds=("GPU",) * len(ranks),
        confidence="certain",
        notes=(),
    )
    steps, ops = _steps(run, ranks, local), _ops(run, ranks)
    return Summary(who, steps, meetings, communicators, ops)


def _steps(run: Run, ranks: np.ndarray, local: object) -> Columns:
    layout = run.layout
    begin = np.stack(run.begin).reshape(layout.steps + 1, -1)[:, ranks]
    duration = np.diff(begin, axis=0)
    parts = {name: one.reshape(layout.steps, -1)[:, ranks] for name, one in run.parts.items()}
    columns = {part: np.zeros(duration.shape) for part in PARTS}
    columns["device_compute_16"] = parts["compute"] + parts["memory"]
    columns["kernel_launch"] = parts["launch"]
    columns["host_to_device"] = parts["copy"]
    columns["input"] = parts["input"]
    columns["other"] = parts["pause"]
    columns["collectives"] = duration - sum(parts.values())
    to_ps = local if callable(local) else None
    assert to_ps is not None
    return columns_of(
        STEPS,
        {
            "device": np.repeat(np.arange(len(ranks)), layout.steps),
            "step": np.tile(np.arange(layout.steps), len(ranks)),
            "begin_ps": to_ps(begin[:-1]).T.ravel(),
            "duration_ps": np.round(duration * _PS).astype(np.int64).T.ravel(),
            "counts": np.ones(duration.size, dtype=bool),
            **{
                f"{part}_ps": np.round(value * _PS).astype(np.int64).T.ravel()
                for part, value in columns.items()
            },
        },
    )


def _ops(run: Run, ranks: np.ndarray) -> Columns:
    """Two kernels: one bound by compute, one by memory."""
    layout = run.layout
    count = layout.layers * layout.batches * 2 * layout.steps
    rows = []
    for device, rank in enumerate(ranks.tolist()):
        for part, op in (("compute", "gemm"), ("memory", "layer_norm")):
            total = float(run.parts[part].reshape(layout.steps, -1)[:, rank].sum())
            each = int(total / count * _PS)
            rows.append((device, op, count, int(total * _PS), each, each))
    return columns_of(OPS, dict(zip(OPS, zip(*rows, strict=True), strict=True)))
