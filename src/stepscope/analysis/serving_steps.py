"""Serving steps: what an engine of language models runs in each step, by kind and batch size."""

from __future__ import annotations

from math import nan
from typing import Annotated, Any, Final

import numpy as np

from stepscope.columns.space import Bool
from stepscope.records import dataclass
from stepscope.registry import Tool
from stepscope.result import Column, Result, Row, Table, ms
from stepscope.tables.core.profile import Profile
from stepscope.tables.device.events import has_device_events
from stepscope.tables.torch.serving_steps import (
    Batch,
    EngineSteps,
    serving_steps,
)


class EngineBatchRow(Row):
    """All steps of one kind with as many requests."""

    kind: Annotated[
        str, Column("Kind", kind="category", help="prefill, decode, mixed (both) or other.")
    ]
    requests: Annotated[
        int, Column("Requests", kind="count", help="-1 if the mark does not contain it.")
    ]
    steps: Annotated[int, Column("Steps", kind="count", help="Number of these steps.")]
    tokens_mean: Annotated[
        float, Column("Tokens", kind="number", help="Mean number of tokens computed in a step.")
    ]
    device_ms: Annotated[
        float,
        Column("Device", unit="ms", kind="time", sort="desc", help="Busy time of all these steps."),
    ]
    device_mean_ms: Annotated[
        float, Column("Device per step", unit="ms", kind="time", help="Mean busy time of a step.")
    ]
    host_mean_ms: Annotated[
        float, Column("Host per step", unit="ms", kind="time", help="Mean length of the mark.")
    ]
    gap_mean_ms: Annotated[
        float,
        Column(
            "Gap before",
            unit="ms",
            kind="time",
            help="Mean idle time of the device since the previous step.",
        ),
    ]
    idle_mean_ms: Annotated[
        float,
        Column(
            "Gaps inside",
            unit="ms",
            kind="time",
            help="Mean idle time of the device within a step.",
        ),
    ]
    graph_frac: Annotated[
        float,
        Column(
            "From graphs", unit="%", kind="ratio", help="Share of device time in replayed graphs."
        ),
    ]
    tokens_per_s: Annotated[
        float,
        Column(
            "Tokens per second",
            unit="1/s",
            kind="rate",
            help="Tokens ÷ time of the step and the gap before it.",
        ),
    ]


class EngineStepRow(Row):
    """One step."""

    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    step: Annotated[int, Column("Step", kind="number", help="Position by start, from 1.")]
    start_ms: Annotated[float, Column("Start", unit="ms", kind="time")]
    kind: Annotated[str, Column("Kind", kind="category")]
    requests: Annotated[int, Column("Requests", kind="count")]
    tokens: Annotated[int, Column("Tokens", kind="count")]
    host_ms: Annotated[float, Column("Host", unit="ms", kind="time", help="Length of the mark.")]
    device_ms: Annotated[float, Column("Device", unit="ms", kind="time", help="Busy time.")]
    gap_ms: Annotated[float, Column("Gap before", unit="ms", kind="time")]
    kernels: Annotated[int, Column("Kernels", kind="count", help="Kernels and copies.")]
    graph_frac: Annotated[float, Column("From graphs", unit="%", kind="ratio")]


@dataclass(frozen=True, slots=True)
class Options:
    """The page has no options."""


@dataclass(frozen=True, kw_only=True)
class ServingSteps(Result):
    """Steps of an engine that serves language models, by kind and batch size.

    Attributes:
        batches: Steps grouped by kind and size.
        steps: One row per step.
    """

    tool = "serving_steps"
    batches: Table[EngineBatchRow]
    steps: Table[EngineStepRow]


def steps_of_engines(profile: Profile, options: Options = Options()) -> ServingSteps:
    """The steps of all hosts."""
    found = [(host.name, serving_steps(host)) for host in profile.hosts]
    rows = [row for host, one in found for row in _step_rows(host, one)]
    batches = _batch_rows([one for _, one in found])
    batches.sort(key=lambda row: -row["device_ms"])
    if not any(map(has_device_events, profile.hosts)):
        rows, batches = ([row | _NOT_RECORDED for row in listed] for listed in (rows, batches))
    return ServingSteps(
        batches=Table.from_rows(EngineBatchRow, batches), steps=Table.from_rows(EngineStepRow, rows)
    )


#: What only devices tell.
_NOT_RECORDED: Final = {
    "device_ms": nan,
    "device_mean_ms": nan,
    "idle_mean_ms": nan,
    "graph_frac": nan,
    "kernels": None,
}


def _step_rows(host: str, found: EngineSteps) -> list[dict[str, Any]]:
    rows = []
    work = (found.device_ps, found.graph_ps)
    for row, code in enumerate(found.batch.tolist()):
        batch = found.batches[code]
        busy, replayed = (int(one[row]) for one in work)
        gap = int(found.gap_ps[row])
        rows.append(
            {
                "host": host,
                "step": row + 1,
                "start_ms": ms(int(found.start_ps[row])),
                "kind": batch.kind,
                "requests": batch.requests,
                "tokens": batch.tokens,
                "host_ms": ms(int(found.host_ps[row])),
                "device_ms": ms(busy),
                "gap_ms": ms(gap) if gap >= 0 else nan,
                "kernels": int(found.kernels[row]),
                "graph_frac": min(replayed / busy, 1.0) if busy else 0.0,
            }
        )
    return rows


def _batch_rows(found: list[EngineSteps]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, int], list[tuple[EngineSteps, Bool]]] = {}
    for one in found:
        keys = {(batch.kind, batch.requests) for batch in one.batches}
        for key in sorted(keys):
            wanted = np.asarray([(batch.kind, batch.requests) == key for batch in one.batches])
            groups.setdefault(key, []).append((one, wanted[one.batch]))
    return [_batch_row(key, parts) for key, parts in groups.items()]


def _batch_row(key: tuple[str, int], parts: list[tuple[EngineSteps, Bool]]) -> dict[str, Any]:
    def column(name: str) -> Any:
        return np.concatenate([getattr(one, name)[mine] for one, mine in parts])

    def tokens(batch: Batch) -> float:
        return float(batch.tokens) if batch.tokens >= 0 else nan

    computed = np.concatenate(
        [
            np.asarray([tokens(batch) for batch in one.batches])[one.batch[mine]]
            for one, mine in parts
        ]
    )
    device, gap, span = (column(name) for name in ("device_ps", "gap_ps", "span_ps"))
    count = len(device)
    known = gap >= 0
    # A step costs what it lasts on the device and the gap before; the first's gap is not known.
    lasted = float((span + np.maximum(gap, 0))[known].sum()) / 1e12
    busy = int(device.sum())
    return {
        "kind": key[0],
        "requests": key[1],
        "steps": count,
        "tokens_mean": float(computed.mean()),
        "device_ms": ms(busy),
        "device_mean_ms": ms(busy) / count,
        "host_mean_ms": ms(float(column("host_ps").mean())),
        "gap_mean_ms": ms(float(gap[known].mean())) if known.any() else nan,
        "idle_mean_ms": ms(float((span - device).mean())),
        "graph_frac": min(int(column("graph_ps").sum()) / busy, 1.0) if busy else 0.0,
        "tokens_per_s": float(computed[known].sum()) / lasted if lasted else nan,
    }


TOOL = Tool(
    id="serving_steps",
    short="serving",
    title="Serving Steps",
    tab="Table",
    run=steps_of_engines,
    options=Options,
    result=ServingSteps,
)
