"""XSpace bytes ⇄ columns, and the compiled kernels over them."""

from __future__ import annotations

from stepscope.columns.by_key import (
    count_of,
    distinct_keys,
    look_up,
    rows_of,
    sum_by_key,
    sum_labels,
)
from stepscope.columns.core import compiled
from stepscope.columns.decode import decode
from stepscope.columns.encode import encode, encode_to
from stepscope.columns.nesting import Nesting, nest, sweep, union_spans
from stepscope.columns.pivot import (
    StatColumn,
    StrColumn,
    event_stats,
    metadata_stats_by_name,
    plane_stats,
    read_bytes,
    read_string,
    stats_by_name,
)
from stepscope.columns.space import (
    EventMetadata,
    Events,
    Line,
    Plane,
    Space,
    StatMetadata,
    Stats,
    Unknown,
)

__all__ = [
    "EventMetadata",
    "Events",
    "Line",
    "Nesting",
    "Plane",
    "Space",
    "StatColumn",
    "StatMetadata",
    "Stats",
    "StrColumn",
    "Unknown",
    "compiled",
    "count_of",
    "decode",
    "distinct_keys",
    "encode",
    "encode_to",
    "event_stats",
    "look_up",
    "metadata_stats_by_name",
    "nest",
    "plane_stats",
    "read_bytes",
    "read_string",
    "rows_of",
    "stats_by_name",
    "sum_by_key",
    "sum_labels",
    "sweep",
    "union_spans",
]
