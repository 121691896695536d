"""Inference profile: latency of the requests of a model server, and what its batches cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from stepscope.columns.space import I64
from stepscope.panels import Figure, Headline, LineChart, Picker, TableView
from stepscope.records import dataclass
from stepscope.registry import Help, Tool
from stepscope.result import Column, Result, Row, Table, columns_of
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.serving import NONE, DeviceTime, Serving, serving

ALL_MODELS = "all models"
NO_MODEL = "(model not named)"
PERCENTILES = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p999": 0.999}
F64 = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class ServedModelRow(Row):
    """One model: its requests' latency and its batches."""

    model: Annotated[str, Column("Model", kind="name")]
    requests: Annotated[int, Column("Requests", kind="count", sort="desc")]
    requests_per_s: Annotated[
        float,
        Column(
            "Requests per second",
            unit="1/s",
            kind="rate",
            help="Between its first and last request.",
        ),
    ]
    latency_mean_us: Annotated[float, Column("Mean latency", unit="µs", kind="time")]
    latency_p50_us: Annotated[float, Column("Median latency", unit="µs", kind="time")]
    latency_p75_us: Annotated[float, Column("75 % below", unit="µs", kind="time")]
    latency_p90_us: Annotated[float, Column("90 % below", unit="µs", kind="time")]
    latency_p99_us: Annotated[float, Column("99 % below", unit="µs", kind="time")]
    latency_p999_us: Annotated[float, Column("99.9 % below", unit="µs", kind="time")]
    latency_max_us: Annotated[float, Column("Slowest", unit="µs", kind="time")]
    queued_mean_us: Annotated[
        float, Column("Mean wait for a batch", unit="µs", kind="time", help="Time in the queue.")
    ]
    device_mean_us: Annotated[
        float,
        Column(
            "Mean device time",
            unit="µs",
            kind="time",
            help="Time in which devices work for the request.",
        ),
    ]
    host_mean_us: Annotated[
        float,
        Column(
            "Mean host time", unit="µs", kind="time", help="Latency without device time and queue."
        ),
    ]
    batches: Annotated[int, Column("Batches", kind="count")]
    batch_latency_mean_us: Annotated[float, Column("Mean batch time", unit="µs", kind="time")]
    batch_requests_mean: Annotated[float, Column("Requests per batch", kind="number")]
    batch_size_mean: Annotated[
        float, Column("Mean batch size", kind="number", help="Examples per batch.")
    ]
    padding_frac: Annotated[
        float, Column("Padding", unit="%", kind="ratio", help="Share of examples that are padding.")
    ]


class RequestRow(Row):
    """One request."""

    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    model: Annotated[str, Column("Model", kind="name")]
    start_ms: Annotated[float, Column("Start", unit="ms", kind="time")]
    latency_us: Annotated[float, Column("Latency", unit="µs", kind="time", sort="desc")]
    percentile_frac: Annotated[
        float,
        Column(
            "Percentile", unit="%", kind="ratio", help="Share of requests that are at most as slow."
        ),
    ]
    size: Annotated[int, Column("Size", kind="count", help="Examples in the request.")]
    batch: Annotated[int, Column("Batch", kind="number", help="Row of its batch.")]
    queued_us: Annotated[float, Column("Wait for batch", unit="µs", kind="time")]
    device_compute_us: Annotated[float, Column("Device compute", unit="µs", kind="time")]
    host_to_device_us: Annotated[float, Column("Copy to device", unit="µs", kind="time")]
    device_to_host_us: Annotated[float, Column("Copy to host", unit="µs", kind="time")]
    host_us: Annotated[
        float,
        Column(
            "Host", unit="µs", kind="time", help="Time without waiting and without device work."
        ),
    ]


class BatchRow(Row):
    """One batch."""

    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    batch: Annotated[int, Column("Batch", kind="number")]
    model: Annotated[str, Column("Model", kind="name")]
    start_ms: Annotated[float, Column("Start", unit="ms", kind="time")]
    latency_us: Annotated[float, Column("Time", unit="µs", kind="time", sort="desc")]
    requests: Annotated[int, Column("Requests", kind="count")]
    size: Annotated[int, Column("Size", kind="count", help="Examples without padding.")]
    padded_size: Annotated[int, Column("Size run", kind="count", help="Examples with padding.")]
    waited_us: Annotated[
        float,
        Column(
            "Oldest wait",
            unit="µs",
            kind="time",
            help="Longest time that one of its requests was queued.",
        ),
    ]
    device_compute_us: Annotated[float, Column("Device compute", unit="µs", kind="time")]
    host_to_device_us: Annotated[float, Column("Copy to device", unit="µs", kind="time")]
    device_to_host_us: Annotated[float, Column("Copy to host", unit="µs", kind="time")]
    host_us: Annotated[
        float, Column("Host", unit="µs", kind="time", help="Time without device work.")
    ]


class BatchSizeRow(Row):
    """All batches of a model that ran the same number of examples."""

    model: Annotated[str, Column("Model", kind="name")]
    padded_size: Annotated[int, Column("Size run", kind="count", help="Examples with padding.")]
    batches: Annotated[int, Column("Batches", kind="count", sort="desc")]
    latency_mean_us: Annotated[float, Column("Mean time", unit="µs", kind="time")]
    latency_per_example_us: Annotated[
        float,
        Column(
            "Time per example", unit="µs", kind="time", help="Latency ÷ examples without padding."
        ),
    ]
    device_compute_mean_us: Annotated[float, Column("Mean device compute", unit="µs", kind="time")]
    padding_frac: Annotated[float, Column("Padding", unit="%", kind="ratio")]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of inference_profile."""

    model: Annotated[str, Help("Only this model; empty for all.")] = ""


@dataclass(frozen=True, kw_only=True)
class InferenceProfile(Result):
    """Latency of a model server's requests, by model, and the time and size of its batches.

    Percentiles are measured latencies (nearest rank), never interpolated. Device time is what
    the host's devices did while a request or batch lasted: those at the same time share it.

    Attributes:
        models: One row for all models, then one per model.
        requests: Requests, the slowest first.
        batches: Batches, by start.
        batch_sizes: Batches grouped by size.
    """

    tool = "inference_profile"
    models: Table[ServedModelRow]
    requests: Table[RequestRow]
    batches: Table[BatchRow]
    batch_sizes: Table[BatchSizeRow]


@dataclass(frozen=True, eq=False, slots=True)
class _Columns:
    """Requests or batches of all hosts as columns of µs, NaN where not known."""

    model: list[str]
    values: dict[str, F64]

    def of(self, model: str) -> _Columns:
        """Those of one model."""
        own = np.asarray([one == model for one in self.model], dtype=bool)
        return _Columns([model] * int(own.sum()), {k: v[own] for k, v in self.values.items()})

    def __len__(self) -> int:
        return len(self.model)

    def mean(self, name: str) -> float:
        """Mean of the known values."""
        known = self.values[name][~np.isnan(self.values[name])]
        return float(known.mean()) if len(known) else float("nan")


def inference_profile(profile: Profile, options: Options = Options()) -> InferenceProfile:
    """Requests, batches and latencies of all hosts together."""
    served = [(host, found) for host in profile.hosts if (found := serving(host)) is not None]
    requests, hosts_of_requests = _joined(served, _request_columns)
    batches, hosts_of_batches = _joined(served, _batch_columns)
    # Rows of batches count on over the hosts, and so do requests' references to them.
    shift = np.cumsum([0, *(len(found.batches) for _host, found in served)])[:-1]
    per_host = [len(found.requests) for _host, found in served]
    if len(requests):
        requests.values["batch"] += np.repeat(shift, per_host)
    batches.values["batch"] = np.arange(len(batches), dtype=np.float64)
    requests, hosts_of_requests = _chosen(requests, hosts_of_requests, options.model)
    batches, hosts_of_batches = _chosen(batches, hosts_of_batches, options.model)
    return InferenceProfile(
        models=_models(requests, batches),
        requests=_request_table(requests, hosts_of_requests),
        batches=_table(BatchRow, batches, hosts_of_batches, np.arange(len(batches))),
        batch_sizes=_batch_sizes(batches),
    )


def _joined(
    served: list[tuple[Host, Serving]], columns: Callable[[Serving], _Columns]
) -> tuple[_Columns, list[str]]:
    parts = [columns(found) for _host, found in served]
    names = parts[0].values if parts else {}
    joined = _Columns(
        [model or NO_MODEL for part in parts for model in part.model],
        {name: np.concatenate([part.values[name] for part in parts]) for name in names},
    )
    hosts = [host.name for (host, _f), part in zip(served, parts, strict=True) for _ in part.model]
    return joined, hosts


def _chosen(columns: _Columns, hosts: list[str], wanted: str) -> tuple[_Columns, list[str]]:
    """Those of the wanted model; all when it is ""."""
    rows = [row for row, model in enumerate(columns.model) if wanted in ("", model)]
    return (
        _Columns(
            [columns.model[row] for row in rows],
            {name: values[rows] for name, values in columns.values.items()},
        ),
        [hosts[row] for row in rows],
    )


def _known(values: I64, scale: float = 1.0) -> F64:
    result: F64 = np.where(values == NONE, np.nan, values / scale)
    return result


def _device_columns(device: DeviceTime) -> dict[str, F64]:
    return {
        "device_compute_us": device.compute_ps / 1e6,
        "host_to_device_us": device.to_device_ps / 1e6,
        "device_to_host_us": device.from_device_ps / 1e6,
    }


def _request_columns(found: Serving) -> _Columns:
    requests = found.requests
    queued = np.maximum(requests.queued_ps, 0)
    host = np.maximum(requests.duration_ps - requests.device.any_ps - queued, 0)
    return _Columns(
        requests.model,
        {
            "start_ms": requests.start_ps / 1e9,
            "latency_us": requests.duration_ps / 1e6,
            "size": _known(requests.size),
            "batch": _known(requests.batch),
            "queued_us": _known(requests.queued_ps, 1e6),
            "host_us": host / 1e6,
            "device_us": requests.device.any_ps / 1e6,
            **_device_columns(requests.device),
        },
    )


def _batch_columns(found: Serving) -> _Columns:
    batches = found.batches
    host = np.maximum(batches.duration_ps - batches.device.any_ps, 0)
    return _Columns(
        batches.model,
        {
            "start_ms": batches.start_ps / 1e9,
            "latency_us": batches.duration_ps / 1e6,
            "requests": batches.requests.astype(np.float64),
            "size": _known(batches.size),
            "padded_size": _known(batches.padded_size),
            "waited_us": _known(batches.waited_ps, 1e6),
            "host_us": host / 1e6,
            **_device_columns(batches.device),
        },
    )


def _models(requests: _Columns, batches: _Columns) -> Table[ServedModelRow]:
    names = sorted(
        {*requests.model, *batches.model}, key=lambda name: (-requests.model.count(name), name)
    )
    rows = [_model(ALL_MODELS, requests, batches)] if names else []
    rows += [_model(name, requests.of(name), batches.of(name)) for name in names]
    return Table(
        ServedModelRow, {name: [row[name] for row in rows] for name in columns_of(ServedModelRow)}
    )


def _model(name: str, requests: _Columns, batches: _Columns) -> dict[str, Any]:
    latency = requests.values["latency_us"]
    start = requests.values["start_ms"] * 1e3
    span = float((start + latency).max() - start.min()) if len(latency) else 0.0
    return {
        "model": name,
        "requests": len(requests),
        "requests_per_s": len(latency) / span * 1e6 if span else float("nan"),
        "latency_mean_us": requests.mean("latency_us"),
        **{f"latency_{label}_us": _quantile(latency, at) for label, at in PERCENTILES.items()},
        "latency_max_us": _quantile(latency, 1.0),
        "queued_mean_us": requests.mean("queued_us"),
        "device_mean_us": requests.mean("device_us"),
        "host_mean_us": requests.mean("host_us"),
        "batches": len(batches),
        "batch_latency_mean_us": batches.mean("latency_us"),
        "batch_requests_mean": batches.mean("requests"),
        "batch_size_mean": batches.mean("size"),
        "padding_frac": _padding(batches),
    }


def _quantile(values: F64, at: float) -> float:
    if len(values) == 0:
        return float("nan")
    return float(np.quantile(values, at, method="inverted_cdf"))


def _padding(batches: _Columns) -> float:
    size, padded = batches.values["size"], batches.values["padded_size"]
    known = ~np.isnan(size) & ~np.isnan(padded)
    run = float(padded[known].sum())
    return 1 - float(size[known].sum()) / run if run else float("nan")


def _request_table(requests: _Columns, hosts: list[str]) -> Table[RequestRow]:
    latency = requests.values.get("latency_us", np.zeros(0))
    at_most = np.searchsorted(np.sort(latency), latency, side="right")
    requests.values["percentile_frac"] = at_most / max(len(latency), 1)
    return _table(RequestRow, requests, hosts, np.argsort(-latency, kind="stable"))


def _table(schema: type[Row], columns: _Columns, hosts: list[str], order: I64) -> Table[Any]:
    if len(columns) == 0:
        return Table.empty(schema)
    given: dict[str, Any] = {"host": hosts, "model": columns.model}
    listed = {}
    for name, (python_type, _column) in columns_of(schema).items():
        values = given.get(name, columns.values.get(name))
        assert values is not None, name
        picked = [values[row] for row in order.tolist()]
        if python_type is int:
            picked = [None if np.isnan(value) else int(value) for value in picked]
        listed[name] = picked
    return Table(schema, listed)


def _batch_sizes(batches: _Columns) -> Table[BatchSizeRow]:
    padded = batches.values.get("padded_size", np.zeros(0))
    keys = sorted(
        {
            (m, int(p))
            for m, p in zip(batches.model, padded.tolist(), strict=True)
            if not np.isnan(p)
        }
    )
    rows = []
    for model, size in keys:
        own = np.asarray([one == model for one in batches.model], dtype=bool) & (padded == size)
        part = _Columns([model] * int(own.sum()), {k: v[own] for k, v in batches.values.items()})
        examples = float(part.values["size"].sum())
        latency = part.values["latency_us"]
        rows.append(
            {
                "model": model,
                "padded_size": size,
                "batches": len(part),
                "latency_mean_us": part.mean("latency_us"),
                "latency_per_example_us": float(latency.sum()) / examples
                if examples
                else float("nan"),
                "device_compute_mean_us": part.mean("device_compute_us"),
                "padding_frac": _padding(part),
            }
        )
    return Table(
        BatchSizeRow, {name: [row[name] for row in rows] for name in columns_of(BatchSizeRow)}
    )


TOOL = Tool(
    id="inference_profile",
    short="inference",
    title="Inference",
    tab="Table",
    run=inference_profile,
    options=Options,
    result=InferenceProfile,
    page=(
        Headline(
            "Half of the requests take up to {models.latency_p50_us}, one in a hundred more"
            " than {models.latency_p99_us}. | No request ended within the recording."
        ),
        Picker(option="model", title="Model", all="All models", values="requests.model"),
        Figure(
            "Requests",
            "{models.requests} | 0",
            "{models.requests_per_s} per second | rate not known",
        ),
        Figure("Median latency", "{models.latency_p50_us} | –", "mean {models.latency_mean_us}"),
        Figure(
            "90th percentile", "{models.latency_p90_us} | –", "75 % below {models.latency_p75_us}"
        ),
        Figure("99th percentile", "{models.latency_p99_us} | –", "slowest {models.latency_max_us}"),
        Figure(
            "Device time",
            "{models.device_mean_us} | –",
            "mean; {models.queued_mean_us} waiting for a batch | mean; no batches recorded",
        ),
        LineChart(
            "requests",
            title="Latency by percentile",
            note="{count} requests",
            label="Latency of {count} requests by percentile",
            noun=("request", "requests"),
            tip="{percentile_frac} take at most {latency_us}",
            columns=("percentile_frac", "latency_us", "queued_us"),
        ),
        LineChart(
            "batch_sizes",
            title="Time by batch size",
            note="{by}",
            label="Time of batches of {count} sizes",
            noun=("size", "sizes"),
            tip="{padded_size} examples",
            columns=("padded_size", "latency_mean_us", "latency_per_example_us"),
            by="model",
        ),
        TableView(
            "batches",
            noun=("batch", "batches"),
            none="No batches were recorded: the server handles requests one at a time, or batches"
            " outside the recording.",
        ),
        TableView("models", noun=("model", "models")),
        TableView(
            "requests",
            note="Devices that serve several requests at once count for each",
            noun=("request", "requests"),
            main=True,
            sums=False,
        ),
    ),
)
