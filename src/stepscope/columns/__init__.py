"""``Space``: the events of one recording as flat arrays, and what is computed over all of them.

Nesting, stats by name, events by key and levels of detail live here, each a pass over columns.
Where the columns come from is a matter of ``stepscope.formats``.
"""

from __future__ import annotations

from stepscope.columns.by_key import (
    among,
    by_place,
    coded,
    coded_rows,
    count_of,
    distinct,
    distinct_codes,
    distinct_keys,
    look_up,
    median,
    one_of,
    quantile,
    rows_by_key,
    rows_of,
    sum_by_key,
    sum_labels,
)
from stepscope.columns.nesting import Nesting, innermost, nest, sweep, sweep_pieces, union_spans
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
    UnknownFields,
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
    "UnknownFields",
    "among",
    "by_place",
    "coded",
    "coded_rows",
    "count_of",
    "distinct",
    "distinct_codes",
    "distinct_keys",
    "event_stats",
    "innermost",
    "look_up",
    "median",
    "metadata_stats_by_name",
    "nest",
    "one_of",
    "plane_stats",
    "quantile",
    "read_bytes",
    "read_string",
    "rows_by_key",
    "rows_of",
    "stats_by_name",
    "sum_by_key",
    "sum_labels",
    "sweep",
    "sweep_pieces",
    "union_spans",
]
