"""The tables people query: events, steps and ops as Polars frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.ops.framework_totals import device_op_totals, host_op_totals
from stepscope.tables.steps.attribution import PARTS, found_steps

if TYPE_CHECKING:
    import polars as pl


def events_frame(profile: Profile) -> pl.DataFrame:
    """Every event: host, plane, line, name, start_us, duration_us, event (row number).

    ``start_us`` counts from the host's origin. Names are dictionary-encoded.
    """
    return _concat([_events_of(host) for host in profile.hosts])


def _events_of(host: Host) -> pl.DataFrame:
    import polars as pl

    space = host.space
    line_names = [line.label for line in space.lines] or [""]
    plane_names = [plane.name for plane in space.planes] or [""]
    line_plane = np.asarray([line.plane for line in space.lines] or [0], dtype=np.int64)
    line = space.event_line
    return pl.DataFrame(
        {
            "host": pl.repeat(host.name, len(space.events), dtype=pl.String, eager=True),
            "plane": _dictionary(plane_names, line_plane[line]),
            "line": _dictionary(line_names, line),
            "name": _dictionary(space.event_metadata.name or [""], space.events.metadata),
            "start_us": space.events.start_ps / 1e6,
            "duration_us": space.length_ps / 1e6,
            "event": np.arange(len(space.events), dtype=np.int64),
        }
    )


def _dictionary(words: list[str], codes: np.ndarray) -> pl.Series:
    import polars as pl

    return pl.Series(words, dtype=pl.String).cast(pl.Categorical).gather(np.maximum(codes, 0))


def steps_frame(profile: Profile) -> pl.DataFrame:
    """Every step: host, step_num, name, start_ms, step_time_ms, its parts (``…_ms``), kept."""
    import polars as pl

    frames = []
    for host in profile.hosts:
        found = found_steps(host)
        if found is None:
            continue
        columns: dict[str, object] = {
            "host": [host.name] * len(found),
            "step_num": found.markers.num,
            "name": found.markers.name,
            "start_ms": found.start_ps / 1e9,
            "step_time_ms": found.duration_ps / 1e9,
        }
        columns |= {f"{part}_ms": found.parts_ps[part] / 1e9 for part in PARTS}
        frames.append(pl.DataFrame(columns | {"kept": found.kept}))
    empty = {"host": pl.String, "step_num": pl.Int64, "name": pl.String, "start_ms": pl.Float64}
    empty |= {"step_time_ms": pl.Float64} | {f"{part}_ms": pl.Float64 for part in PARTS}
    return _concat(frames) if frames else pl.DataFrame(schema=empty | {"kept": pl.Boolean})


def ops_frame(profile: Profile) -> pl.DataFrame:
    """Every framework op: host, side, type, operation, counts, total_us and self_us."""
    import polars as pl

    frames = []
    for host in profile.hosts:
        for side, totals in (("Host", host_op_totals(host)), ("Device", device_op_totals(host))):
            columns = {
                "host": pl.Series([host.name] * len(totals), dtype=pl.String),
                "side": pl.Series([side] * len(totals), dtype=pl.String),
                "type": pl.Series(totals.type, dtype=pl.String),
                "operation": pl.Series(totals.name, dtype=pl.String),
                "occurrences": totals.occurrences,
                "executions": totals.executions,
                "total_us": totals.total_ps / 1e6,
                "self_us": totals.self_ps / 1e6,
            }
            frames.append(pl.DataFrame(columns))
    return _concat(frames)


def _concat(frames: list[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    return pl.concat(frames, how="vertical_relaxed") if frames else pl.DataFrame()


FRAMES: dict[str, Callable[[Profile], pl.DataFrame]] = {
    "events": events_frame,
    "steps": steps_frame,
    "ops": ops_frame,
}
