"""When calls of a tf.function traced it: they build a graph, and compute nothing yet.

TensorFlow records the call as a whole, with what it runs after it was traced: ops of graphs that
run meanwhile are not part of the tracing.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns import distinct, union_spans
from stepscope.columns.space import I64
from stepscope.schema import names
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.host.ops import host_ops

#: What a call's stat begins with where it traced.
TRACED: Final = "traced"


@derived
def tracing_spans(host: Host) -> tuple[I64, I64, I64]:
    """Begin, end and call of each stretch of such calls in which no op of a graph runs."""
    how = event_stats(host).texts(names.TF_FUNCTION_CALL)
    wanted = np.asarray([text.startswith(TRACED) for text in how.texts], dtype=bool)
    calls = how.rows[wanted[how.codes]] if len(how.rows) else how.rows
    if len(calls) == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing
    starts, lengths = host.space.events.start_ps, host.space.length_ps
    begin, until = union_spans(starts[calls], starts[calls] + lengths[calls])
    ops = host_ops(host)
    ran = ops.rows[ops.is_execution & ~ops.is_eager]
    busy = union_spans(starts[ran], starts[ran] + lengths[ran])
    times = distinct(np.concatenate([begin, until, *busy]))
    left, right = times[:-1], times[1:]
    inside = (covered(begin, until, left, right) > 0) & (covered(*busy, left, right) == 0)
    left, right = left[inside], right[inside]
    by_start = calls[np.argsort(starts[calls], kind="stable")]
    at = np.searchsorted(starts[by_start], left, side="right") - 1
    return left, right, by_start[at]
