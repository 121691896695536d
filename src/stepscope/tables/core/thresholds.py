"""Limits that the facts of a step use: one name for one quantity.

Shares are of the whole that the code names beside them. They are steps of one scale, from some to
half to nearly all. On 461 recordings findings were as good with this scale as with 165 shares of
their own. Counts and times have their reason beside them.
"""

from __future__ import annotations

from typing import Final

# Shares, 0 to 1.
TRACE_FRAC: Final = 0.005  # below it nothing is looked at
LITTLE_FRAC: Final = 0.02  # smaller parts are not replayed
SOME_FRAC: Final = 0.05  # worth a look
PART_FRAC: Final = 0.1  # worth a name
FAIR_FRAC: Final = 0.2  # of a wait: a stage at work is named, though a hand-over takes longer
LARGE_FRAC: Final = 0.25  # a large part of its whole
HALF_FRAC: Final = 0.5  # more than anything else
TWO_THIRDS_FRAC: Final = 2 / 3  # most of it: a family says more than its scope, a call waits
MOST_FRAC: Final = 0.75  # three quarters: a rhythm, a trend, one call
NEARLY_ALL_FRAC: Final = 0.9  # nearly all of it
ALL_FRAC: Final = 0.95  # all of it but noise
GOES_WITH_FRAC: Final = 1 / 3  # of other ops, with Python around them: caches stay warm

# Counts.
FEW: Final = 3  # names in a list; lines, layers or functions that are several; the least of a loop
SEVERAL: Final = 5  # entries in a table; samples, runs and steps that show no chance
MANY: Final = 8  # calls per step that make a loop; the levels of ops within ops
SLICES: Final = 16  # datasets per batch: a way to slice, and not the files of the data
HIGHEST: Final = 16  # parts that are replayed, by their time
DOZENS: Final = 20  # steps, or gaps per step, whose median is steady
OFTEN: Final = 40  # owners of a part; steps whose blocks have medians
CALLS: Final = 64  # calls of a function that may be the loop's: one per chunk of a recording
DEEPEST: Final = 256  # levels of a stack that are followed
LONGEST_NAME: Final = 60  # characters of a name that are shown

# Ratios.
GROWN: Final = 1.2  # a last step with as many times the ops of the first has grown; noise is less
USUAL_TIMES: Final = 10  # a gap of as many times the median is more than a dispatch

# Times.
SWITCH_MS: Final = 0.3  # Python switches threads within 5 ms, a sampler wakes up in 0.1 ms
EDGE_PS: Final = 2_500_000  # 2.5 µs: an event's begin or end costs a recorder less
TOGETHER_PS: Final = 100_000_000  # 0.1 ms: ends that far apart are one
LONG_WAIT_PS: Final = 200_000_000  # 0.2 ms: longer than any hand-over between threads
LONG_OP_PS: Final = 500_000_000  # 0.5 ms: an op that is no dispatch
SHORT_OP_PS: Final = 50_000_000  # 0.05 ms: an op that costs its dispatch

# Bounds of work and memory.
BLOCK: Final = 1 << 15  # events that are summed at a time, so that they stay in a core's cache
LARGE: Final = 1 << 17  # events whose memory is worth returning
VERY_LARGE: Final = 1 << 20  # events whose memory is worth returning after every stage
LINES: Final = 1 << 31  # no file has more
