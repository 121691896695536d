"""Two pods held against each other by coordinates: names of hosts change, places do not."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Annotated, ClassVar, Final, Literal, TypeVar

import numpy as np

from stepscope.columns.space import I64
from stepscope.pod.report import DeviceRow, Pod
from stepscope.quantities import time_change, time_words
from stepscope.records import dataclass
from stepscope.result import Column, Diagnostic, Result, Row, Table

R = TypeVar("R", bound=Row)
#: What tells which device is which in both: coordinates, rank and device, or its place in order.
MatchedBy = Literal["coordinates", "rank", "order"]
# A step that differs by less has not changed.
_SAME: Final = 0.005


class SuspectChangeRow(Row):
    """Who made one of the pods slower."""

    name: Annotated[str, Column("Who", kind="name")]
    change: Annotated[str, Column("Change", kind="category", help="new, gone or both.")]
    before_ms: Annotated[float, Column("Cost before", unit="ms", kind="time")]
    after_ms: Annotated[float, Column("Cost after", unit="ms", kind="time", sort="desc")]
    cause: Annotated[str, Column("Cause", kind="category")]


class CoordinateChangeRow(Row):
    """One coordinate of one axis of the job, in both pods."""

    axis: Annotated[str, Column("Axis", kind="name")]
    coordinate: Annotated[int, Column("Coordinate", kind="number")]
    work_before_ms: Annotated[float, Column("Own work before", unit="ms", kind="time")]
    work_after_ms: Annotated[float, Column("Own work after", unit="ms", kind="time")]
    work_change_ms: Annotated[float, Column("Change", unit="ms", kind="time", sort="desc")]
    charged_before_ms: Annotated[float, Column("Makes wait before", unit="ms", kind="time")]
    charged_after_ms: Annotated[float, Column("Makes wait after", unit="ms", kind="time")]


class DeviceChangeRow(Row):
    """One device of the new pod, and the one in its place before."""

    place: Annotated[str, Column("Place", kind="name")]
    host_before: Annotated[str, Column("Host before", kind="name")]
    host_after: Annotated[str, Column("Host after", kind="name")]
    device: Annotated[str, Column("Device", kind="name")]
    charged_before_ms: Annotated[float, Column("Makes wait before", unit="ms", kind="time")]
    charged_after_ms: Annotated[float, Column("Makes wait after", unit="ms", kind="time")]
    charged_change_ms: Annotated[float, Column("Change", unit="ms", kind="time", sort="desc")]
    ratio_before: Annotated[float, Column("× peers before", kind="number")]
    ratio_after: Annotated[float, Column("× peers after", kind="number")]


@dataclass(frozen=True, kw_only=True)
class PodComparison(Result):
    """What changed between two pods of one job.

    Attributes:
        headline: The answer in a sentence.
        baseline: The run compared with.
        matched_by: What tells which device is which.
        unmatched: Devices of either pod without one in their place in the other.
        step_before_ms, step_after_ms: Mean steps as replayed.
        typical_before_ms, typical_after_ms: With typical times everywhere.
        suspects, coordinates, places: See their rows.
    """

    tool: ClassVar[str] = "pod_comparison"
    headline: str = ""
    baseline: str = ""
    matched_by: str = ""
    unmatched: int = 0
    step_before_ms: float = nan
    step_after_ms: float = nan
    typical_before_ms: float = nan
    typical_after_ms: float = nan
    suspects: Table[SuspectChangeRow]
    coordinates: Table[CoordinateChangeRow]
    places: Table[DeviceChangeRow]


def compare_pods(before: Pod, after: Pod) -> PodComparison:
    """Hold a pod against an earlier one of the same job."""
    found = same_places(before, after)
    notes: tuple[Diagnostic, ...] = ()
    if found.matched_by != "coordinates":
        text = f"The pods have no axes in common: devices are matched by their {found.matched_by}."
        notes = (Diagnostic("pod-places", "info", text),)
    suspects = suspects_of(before, after, found)
    return PodComparison(
        session=after.session,
        hosts=after.hosts,
        diagnostics=(*_missing(before, "baseline"), *_missing(after, "new run"), *notes),
        headline=_headline(before, after, suspects),
        baseline=before.session,
        matched_by=found.matched_by,
        unmatched=len(before.devices) + len(after.devices) - 2 * len(found.before),
        step_before_ms=before.step_ms,
        step_after_ms=after.step_ms,
        typical_before_ms=before.typical_step_ms,
        typical_after_ms=after.typical_step_ms,
        suspects=suspects,
        coordinates=_coordinates(before, after),
        places=_places(before.devices, after.devices, found),
    )


@dataclass(frozen=True, eq=False, slots=True)
class SamePlaces:
    """Which device of a pod is in the place of which of an earlier one.

    Attributes:
        matched_by: What tells that.
        before, after: Rows of ``Pod.devices`` of either, pair by pair.
    """

    matched_by: MatchedBy
    before: I64
    after: I64


def same_places(before: Pod, after: Pod) -> SamePlaces:
    """Match the devices of two pods."""
    keys, how = _keys(before.devices, after.devices)
    known = {key: row for row, key in enumerate(keys[0])}
    shared = [(known[key], row) for row, key in enumerate(keys[1]) if key in known]
    was, now = np.asarray(shared, dtype=np.int64).reshape(-1, 2).T
    return SamePlaces(how, was, now)


def _missing(pod: Pod, which: str) -> tuple[Diagnostic, ...]:
    return tuple(
        Diagnostic(one.slug, one.severity, one.message, one.where or which)
        for one in pod.diagnostics
        if one.severity == "error"
    )


def _headline(before: Pod, after: Pod, suspects: Table[SuspectChangeRow]) -> str:
    change = after.step_ms - before.step_ms
    own = after.typical_step_ms - before.typical_step_ms
    if abs(change) < _SAME * before.step_ms:
        return f"The step takes {time_words(after.step_ms)} as before."
    word = "longer" if change > 0 else "less"
    waits = change - own
    rows = list(suspects.rows())
    fresh = next((row["name"] for row in rows if row["change"] == "new"), "")
    gone = next((row["name"] for row in rows if row["change"] == "gone"), "")
    who = f" {fresh} makes the others wait now." if fresh else ""
    who += f" {gone} no longer makes the others wait." if gone else ""
    return (
        f"The step takes {time_words(abs(change))} {word} ({time_words(before.step_ms)} → "
        f"{time_words(after.step_ms)}): {time_change(own)} of it in the typical step, "
        f"{time_change(waits)} in waiting for late members.{who}"
    )


def _keys(
    before: Table[DeviceRow], after: Table[DeviceRow]
) -> tuple[tuple[Sequence[object], Sequence[object]], MatchedBy]:
    """By device of each pod, what it has in common with its counterpart."""
    tables = before, after
    places = [list(one["place"]) for one in tables]
    if all(_tells(one) and "" not in one for one in places) and set(places[0]) & set(places[1]):
        return (places[0], places[1]), "coordinates"
    numbers = [np.asarray(one["rank"]).tolist() for one in tables]
    ranks = [
        list(zip(number, one["device"], strict=True))
        for number, one in zip(numbers, tables, strict=True)
    ]
    if all(_tells(one) and all(rank >= 0 for rank, _ in one) for one in ranks):
        return (ranks[0], ranks[1]), "rank"
    return (list(range(len(before))), list(range(len(after)))), "order"


def _tells(keys: Sequence[object]) -> bool:
    return len(set(keys)) == len(keys)


def suspects_of(before: Pod, after: Pod, places: SamePlaces) -> Table[SuspectChangeRow]:
    """Who makes the others wait in either pod; the same place is the same suspect."""
    names = _names_now(before.devices, after.devices, places)
    old = {names.get(row["name"], row["name"]): row for row in before.suspects.rows()}
    new = {row["name"]: row for row in after.suspects.rows()}
    rows = []
    for name in dict.fromkeys([*new, *old]):
        one = new.get(name) or old[name]
        change = "both" if name in new and name in old else "new" if name in new else "gone"
        rows.append(
            {
                "name": one["name"],
                "change": change,
                "before_ms": old[name]["cost_ms"] if name in old else 0.0,
                "after_ms": new[name]["cost_ms"] if name in new else 0.0,
                "cause": one["cause"],
            }
        )
    return Table.from_rows(SuspectChangeRow, rows)


def _names_now(
    before: Table[DeviceRow], after: Table[DeviceRow], places: SamePlaces
) -> dict[str, str]:
    """By the name of a device or host of the earlier pod, that of the one in its place."""
    found: dict[str, str] = {}
    hosts: dict[str, set[str]] = {}
    columns = [(list(one["host"]), list(one["device"])) for one in (before, after)]
    (host_was, device_was), (host_now, device_now) = columns
    for was, now in zip(places.before.tolist(), places.after.tolist(), strict=True):
        found[f"{device_was[was]} of {host_was[was]}"] = f"{device_now[now]} of {host_now[now]}"
        hosts.setdefault(host_was[was], set()).add(host_now[now])
    # A host whose devices are spread over several now is none of them.
    return found | {was: next(iter(now)) for was, now in hosts.items() if len(now) == 1}


def _coordinates(before: Pod, after: Pod) -> Table[CoordinateChangeRow]:
    old = {(row["axis"], row["coordinate"]): row for row in before.axes.rows()}
    rows = []
    for row in after.axes.rows():
        was = old.get((row["axis"], row["coordinate"]))
        if was is not None:
            rows.append(
                {
                    "axis": row["axis"],
                    "coordinate": row["coordinate"],
                    "work_before_ms": was["work_ms"],
                    "work_after_ms": row["work_ms"],
                    "work_change_ms": row["work_ms"] - was["work_ms"],
                    "charged_before_ms": was["charged_ms"],
                    "charged_after_ms": row["charged_ms"],
                }
            )
    return Table.from_rows(
        CoordinateChangeRow, sorted(rows, key=lambda one: -abs(one["work_change_ms"]))
    )


def _places(
    before: Table[DeviceRow], after: Table[DeviceRow], found: SamePlaces
) -> Table[DeviceChangeRow]:
    """Devices in both, those whose part in waiting changed most first."""
    was, now = found.before, found.after
    charged = [np.asarray(one["charged_ms"])[at] for one, at in ((before, was), (after, now))]
    order = np.argsort(-np.abs(charged[1] - charged[0]), kind="stable")
    was, now = was[order], now[order]

    def texts(table: Table[DeviceRow], name: str, rows: np.ndarray) -> list[str]:
        values = list(table[name])
        return [str(values[row]) for row in rows.tolist()]

    named = {"coordinates": "place", "rank": "rank", "order": "device"}[found.matched_by]
    return Table(
        DeviceChangeRow,
        {
            "place": texts(after, named, now),
            "host_before": texts(before, "host", was),
            "host_after": texts(after, "host", now),
            "device": texts(after, "device", now),
            "charged_before_ms": charged[0][order],
            "charged_after_ms": charged[1][order],
            "charged_change_ms": (charged[1] - charged[0])[order],
            "ratio_before": np.asarray(before["work_ratio"])[was],
            "ratio_after": np.asarray(after["work_ratio"])[now],
        },
    )
