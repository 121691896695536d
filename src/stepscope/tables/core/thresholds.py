"""Every threshold of the account, its parts and the advice: one name for one quantity.

Shares are of the whole that the code names beside them. They are steps of one scale, from some to
half to nearly all. On 461 recordings findings were as good with this scale as with 165 shares of
their own. Conditions of the catalogue use the same names. Each has its reason beside it.
"""

from __future__ import annotations

from typing import Final

# Shares, 0 to 1.
TRACE_FRAC: Final = 0.005  # below it nothing is looked at.
LITTLE_FRAC: Final = 0.02  # the noise of repeated runs: a smaller saving shows in no measurement.
ACT_FRAC: Final = 0.03  # least saving that justifies a change (XProf: launches, all-other time).
SOME_FRAC: Final = 0.05  # worth a look; input wait that is named (XProf).
PART_FRAC: Final = 0.1  # worth a name; eager time, too little 16-bit compute (XProf).
ALARM_FRAC: Final = 0.15  # a high loss (XProf: critical input wait).
FAIR_FRAC: Final = 0.2  # enough to be named beside something larger.
LARGE_FRAC: Final = 0.25  # a large part of its whole.
THIRD_FRAC: Final = 0.3  # about a third: a bad roof, a lock that is missed, caches that stay warm.
UNDER_HALF_FRAC: Final = 0.4  # the batch can double; two findings are about the same time.
HALF_FRAC: Final = 0.5  # more than anything else.
GOOD_ROOF_FRAC: Final = 0.6  # cuBLAS, cuDNN and XLA reach it for common shapes.
TWO_THIRDS_FRAC: Final = 2 / 3  # most of it: a family says more than its scope, a call waits.
WIDE_FRAC: Final = 0.7  # of the step: a wider range of savings tells nobody whether to begin.
MOST_FRAC: Final = 0.75  # three quarters: a rhythm, a trend, one call.
NEARLY_ALL_FRAC: Final = 0.9  # nearly all of it.
ALL_FRAC: Final = 0.95  # all of it but noise.

# Counts.
FEW: Final = 3  # names in a list, lines of several places, the least calls of a loop.
SEVERAL: Final = 5  # entries in a table; samples, runs, steps or traces that show no chance.
MANY: Final = 8  # calls per step that make a loop, levels of ops within ops, cores of a machine.
COMPARED: Final = 10  # collectives that tell a late rank: one of two is late in half of them.
CALLS_PER_BATCH: Final = 16  # calls or datasets that are worth merging: 50 to 500 µs for each.
DOZENS: Final = 20  # steps whose median is steady, ops of an uncompiled step, parts replayed.
OFTEN: Final = 40  # owners of a part; steps whose blocks have medians.
CALLS: Final = 64  # calls of a function that may be the loop's: one per chunk of a recording.
KEYS: Final = 64  # keys of attention that fit in a tile of a fused kernel.
UPDATE_OPS: Final = 100  # ops of an optimizer that updates variables one by one.
DIMS: Final = 12  # of a shape; one with more is damage.
LARGEST_DIM: Final = 1 << 40  # damage, too, beyond: products of two shapes still fit a double.
DEEPEST: Final = 256  # levels of a stack that are followed.
LONG_RUN_STEPS: Final = 10_000  # a leak that fills memory sooner is urgent.

# Characters.
NAME_CHARS: Final = 44  # of a name in a sentence: titles have 60.
LINE_CHARS: Final = 60  # of a name on a line of its own.
LIST_CHARS: Final = 64  # of a list on a line with its time.

# Ratios.
GROWN: Final = 1.2  # a last step with as many times the ops of the first has grown; noise is less.
WHOLE_BATCH: Final = 1.5  # fewer elements per batch: the generator yields whole batches.
SLOWED: Final = 2.5  # a recorded step by the undisturbed one, where launchers limit it, at most.
USUAL_TIMES: Final = 10  # a gap of as many times the median is more than a dispatch.

# Times.
EDGE_PS: Final = 2_500_000  # 2.5 µs: an event's begin or end costs a recorder less.
LAUNCH_US: Final = 10  # CUDA and HIP launch in 2 to 10 µs: a shorter kernel costs its launch.
SLOW_LAUNCH_US: Final = 25  # something else disturbs the call.
SHORT_OP_PS: Final = 50_000_000  # 0.05 ms: an op that costs its dispatch.
DISPATCH_US: Final = 60  # an op of PyTorch is dispatched in less, recorder included.
TOGETHER_PS: Final = 100_000_000  # 0.1 ms: ends that far apart are one.
SHORT_HOST_OP_US: Final = 100  # mostly dispatch, in TensorFlow and PyTorch on a CPU.
LONG_WAIT_PS: Final = 200_000_000  # 0.2 ms: longer than any hand-over between threads.
CHEAP_CALL_US: Final = 200  # mostly overhead: a call of tf.data costs 10 to 100 µs.
SWITCH_MS: Final = 0.3  # Python switches threads within 5 ms, a sampler wakes up in 0.1 ms.
LONG_OP_PS: Final = 500_000_000  # 0.5 ms: an op that is no dispatch.
LATE_MS: Final = 1  # a rank's delay above the error of clocks within a cluster.
SHORT_MESSAGE_MS: Final = 5  # 1 MiB at 2 Gbit/s.
START_MS: Final = 1000  # least part of a start that justifies a change: a person waits for it.
LONG_START_MS: Final = 30_000  # a part of a start for which a job is restarted.

# Bytes.
SMALL_MESSAGE_BYTES: Final = 1 << 20  # latency dominates below: NCCL's bandwidth saturates above.
LEAK_BYTES: Final = 8 << 20  # growth over a recording; blocks of caching allocators are 2 MiB.
BUCKET_BYTES: Final = 25 << 20  # a bucket that uses the links: PyTorch's bucket_cap_mb=25.

# Bounds of work and memory.
BLOCK: Final = 1 << 15  # events that are summed at a time, so that they stay in a core's cache.
LARGE: Final = 1 << 17  # events whose memory is worth returning.
VERY_LARGE: Final = 1 << 20  # events whose memory is worth returning after every stage.
LINES: Final = 1 << 31  # no file has more.
