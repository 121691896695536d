"""All devices of a pod in one picture: which cell each has, and a byte to colour it by."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64, U8
from stepscope.pod.meetings import Units
from stepscope.pod.places import STAGE, MeshAxis
from stepscope.pod.report import CellRow, DeviceRow, MapMeasure, PodMap
from stepscope.result import Table, columns_of

F64 = NDArray[np.float64]

#: Columns of ``devices`` that colour the map, the first of them at the beginning.
MEASURES: Final = (
    "charged_ms",
    "last_frac",
    "work_ratio",
    "waits_ms",
    "transfers_ms",
    "input_ms",
    "clock_offset_ms",
)
#: The byte of a cell without a device, or whose device has no such value.
NOTHING: Final = 255
# The byte of the median; as many are above as below.
_MIDDLE: Final = 125
# Colours reach as far as all devices but this share.
_BEYOND: Final = 0.001
# A map of hosts is about so many times as wide as high.
_WIDTH_TO_HEIGHT: Final = 8


def map_of(units: Units, axes: list[MeshAxis], devices: Table[DeviceRow]) -> PodMap:
    """Lay all devices out and choose the range of each colour."""
    cell, rows, columns, down, across = _axis_cells(len(units), axes) or _host_columns(units)
    hosts, host = _coded(units.host)
    names, name = _coded(units.name)
    return PodMap(
        rows=rows,
        columns=columns,
        down=down,
        across=across,
        steps=Table(CellRow, {"cell": _steps(cell), "host": _steps(host), "name": _steps(name)}),
        hosts=hosts,
        names=names,
        measures=tuple(_measure(devices, one) for one in MEASURES),
    )


def colours(devices: Table[DeviceRow], where: PodMap, measure: MapMeasure) -> U8:
    """A byte by cell: 125 the median, 0 and 250 ``reach`` off it and beyond, 255 nothing there."""
    values = np.asarray(devices[measure.id], dtype=np.float64)
    level = _MIDDLE * (values - measure.middle) / (measure.reach if measure.reach > 0 else 1.0)
    level = np.clip(np.round(level), -_MIDDLE, _MIDDLE) + _MIDDLE
    found = np.full(where.rows * where.columns, NOTHING, dtype=np.uint8)
    cell = np.cumsum(where.steps["cell"])
    found[cell] = np.where(np.isnan(level), NOTHING, level)
    return found


def _axis_cells(count: int, axes: list[MeshAxis]) -> tuple[I64, int, int, str, str] | None:
    """Cells by coordinates; None where these do not tell all devices apart."""
    if not axes or any((axis.place < 0).any() for axis in axes):
        return None
    widest = max(axes, key=lambda axis: (axis.size, axis.name != STAGE))
    others = [axis for axis in axes if axis is not widest]
    row = np.zeros(count, dtype=np.int64)
    for axis in others:
        row = row * axis.size + axis.place
    rows = int(np.prod([axis.size for axis in others]))
    cell = row * widest.size + widest.place
    if len(np.unique(cell)) < count:
        return None
    down = " × ".join(axis.name for axis in others)
    return cell, rows, widest.size, down, widest.name


def _host_columns(units: Units) -> tuple[I64, int, int, str, str]:
    """A column per host with its devices below each other; columns wrap into bands."""
    names = np.asarray(units.host)
    first = np.unique(names, return_index=True)[1]
    place = np.searchsorted(np.sort(first), first)  # hosts in the order in which they come
    host = place[np.unique(names, return_inverse=True)[1]]
    high = int(units.local.max()) + 1
    columns = min(int(np.ceil(np.sqrt(_WIDTH_TO_HEIGHT * len(first) * high))), len(first))
    bands = -(-len(first) // columns)
    cell = ((host // columns) * high + units.local) * columns + host % columns
    down = "devices of a host" if high > 1 else ""
    return cell.astype(np.int64), bands * high, columns, down, "hosts"


def _coded(texts: tuple[str, ...]) -> tuple[tuple[str, ...], I64]:
    found: dict[str, int] = {}
    code = [found.setdefault(text, len(found)) for text in texts]
    return tuple(found), np.asarray(code, dtype=np.int64)


def _steps(values: I64) -> I64:
    return np.diff(values, prepend=0)


def _measure(devices: Table[DeviceRow], name: str) -> MapMeasure:
    column = columns_of(DeviceRow)[name][1]
    values = np.asarray(devices[name], dtype=np.float64)
    known = values[~np.isnan(values)]
    middle = float(np.quantile(known, 0.5)) if len(known) else float("nan")
    apart = np.abs(known - middle)
    # Of few devices the farthest has the last colour; of many, those beyond 1 in 1,000 share it.
    reach = float(np.quantile(apart, 1 - _BEYOND, method="higher")) if len(known) else 0.0
    return MapMeasure(
        id=name,
        label=column.label,
        unit=column.unit,
        kind=column.kind,
        least=float(known.min()) if len(known) else float("nan"),
        middle=middle,
        reach=reach,
        most=float(known.max()) if len(known) else float("nan"),
        beyond=int((apart > reach).sum()),
    )
