"""Summaries ⇄ bytes: an archive of Arrow tables, the same bytes for the same summary.

The archive is a ZIP whose members are Arrow IPC streams and one JSON text; any tool that reads
those reads a summary. Nothing in it is executed.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.errors import StepscopeError
from stepscope.summary.summary import (
    COMMUNICATORS,
    MEETINGS,
    OPS,
    STEPS,
    VERSION,
    Columns,
    Schema,
    Summary,
    Who,
    columns_of,
)

SUFFIX: Final = ".stepscope-summary"
#: A summary is never larger; beyond it collectives of the last steps are left out, and said.
MOST_BYTES: Final = 1_000_000
# What a member may become when it is inflated: hostile archives claim more.
_MOST_INFLATED: Final = 256_000_000
_SCHEMAS: Final[dict[str, Schema]] = {
    "steps": STEPS,
    "meetings": MEETINGS,
    "communicators": COMMUNICATORS,
    "ops": OPS,
}
_TYPES: Final[dict[type, Any]] = {
    np.uint16: pl.UInt16,
    np.uint32: pl.UInt32,
    np.int64: pl.Int64,
    np.bool_: pl.Boolean,
    str: pl.String,
    list: pl.List(pl.Int32),
}
_WHO: Final = "who.json"
_WHO_TYPES: Final = {"host": str, "machine": str, "rank": int, "world_size": int, "origin_ns": int}
_WHO_TYPES_OF_LISTS: Final = ("devices", "kinds", "notes")
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def encode(summary: Summary) -> bytes:
    """The bytes of a summary, without its last collectives where all would be too many bytes."""
    found = _archive(summary)
    while len(found) > MOST_BYTES and len(summary.meetings["step"]):
        summary = _shorter(summary, len(found))
        found = _archive(summary)
    return found


def _shorter(summary: Summary, size_bytes: int) -> Summary:
    """The summary without the collectives of its last steps."""
    step = summary.meetings["step"]
    steps = np.unique(step)
    kept = min(int(len(steps) * MOST_BYTES / size_bytes * 0.9), len(steps) - 1)
    note = f"Collectives of {kept:,} steps are kept, those of later ones do not fit."
    who = summary.who
    notes = (*(one for one in who.notes if not one.startswith("Collectives of")), note)
    last = steps[kept] if kept < len(steps) else 0
    return Summary(
        who=Who(**{**_fields(who), "notes": notes}),
        steps=summary.steps,
        meetings={name: column[step < last] for name, column in summary.meetings.items()},
        communicators=summary.communicators,
        ops=summary.ops,
    )


def _fields(who: Who) -> dict[str, Any]:
    return asdict(who)


def _archive(summary: Summary) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        text = json.dumps({"version": VERSION, **_fields(summary.who)}, sort_keys=True)
        archive.writestr(zipfile.ZipInfo(_WHO, _EPOCH), text)
        for name, schema in _SCHEMAS.items():
            columns = getattr(summary, name)
            types = {one: _TYPES[kind] for one, kind in schema.items()}
            values = {
                one: columns[one].tolist() if kind in (str, list) else columns[one]
                for one, kind in schema.items()
            }
            member = io.BytesIO()
            pl.DataFrame(values, schema=types).write_ipc_stream(member, compression="zstd")
            archive.writestr(zipfile.ZipInfo(f"{name}.arrow", _EPOCH), member.getvalue())
    return target.getvalue()


def decode(data: bytes, where: str = "") -> Summary | None:
    """The summary in these bytes; None if it is of another version.

    Raises:
        StepscopeError: It is not a summary.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(one.file_size for one in archive.infolist()) > _MOST_INFLATED:
                raise ValueError("It claims to be larger than any summary.")
            who = json.loads(archive.read(_WHO))
            if who.pop("version") != VERSION:
                return None
            tables = {
                name: _table(archive.read(f"{name}.arrow"), schema)
                for name, schema in _SCHEMAS.items()
            }
            found = Summary(who=_who(who), **tables)
            _check_places(found)
            return found
    except (KeyError, TypeError, ValueError, OSError, zipfile.BadZipFile, RuntimeError) as error:
        raise _unreadable(where, error) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _unreadable(where, error) from error


def _unreadable(where: str, error: BaseException) -> StepscopeError:
    return StepscopeError(
        "This is not a summary that can be read.",
        where=where,
        why=str(error).splitlines()[0] if str(error) else type(error).__name__,
        hint="Delete it; it is made again from its recording.",
        slug="bad-summary",
    )


def _table(data: bytes, schema: Schema) -> Columns:
    found = pl.read_ipc_stream(data)
    if dict(found.schema) != {name: _TYPES[kind] for name, kind in schema.items()}:
        raise ValueError(f"Its columns are {', '.join(found.columns)[:200]}.")
    if any(one.null_count() for one in found):
        raise ValueError("It has gaps.")
    return columns_of(
        schema,
        {
            one.name: one.to_list() if schema[one.name] in (str, list) else one.to_numpy()
            for one in found
        },
    )


def _check_places(found: Summary) -> None:
    """Refuse places of devices and communicators that there are not."""
    devices, communicators = len(found.who.devices), len(found.communicators["key"])
    tables = found.steps, found.meetings, found.ops
    places = [("device", one["device"], devices) for one in tables]
    places.append(("communicator", found.meetings["communicator"], communicators))
    for name, column, count in places:
        if len(column) and column.max() >= count:
            raise ValueError(f"It names a {name} that it does not describe.")


def _who(said: dict[str, Any]) -> Who:
    for name, kind in _WHO_TYPES.items():
        if not isinstance(said[name], kind):
            raise ValueError(f"{name} is not of type {kind.__name__}.")
    lists = {name: tuple(map(str, said[name])) for name in _WHO_TYPES_OF_LISTS}
    return Who(
        host=said["host"],
        machine=said["machine"],
        rank=said["rank"],
        world_size=said["world_size"],
        origin_ns=said["origin_ns"],
        confidence=str(said["confidence"]),
        **lists,
    )
