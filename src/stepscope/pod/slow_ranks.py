"""The rank of a job that is slower than the others, and since when, from summaries of step logs.

Time is cut into at most 1,000 windows. In each one a rank is held against the lower median of all.
A rank is named for the run of windows in which it exceeds the others most (Kadane's algorithm:
Bentley, "Programming pearls", CACM 27 (1984)), if it does so beyond the noise of all ranks.

Ranks that wait for each other have equal steps. The slow one then differs in its wait for input, or
in the processor time of its process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import F64
from stepscope.quantities import share_words, time_words
from stepscope.result import Column, Result, Row, Table
from stepscope.store.step_summaries import StepSummaries
from stepscope.tables.steps.change_points import changes

_MOST_WINDOWS: Final = 1000
# A rank is slow from this share of the others' step on, in at least so many windows.
_SLOW_FRAC, _LEAST_WINDOWS = 0.05, 3
# Sums over windows exceed the noise by so many standard deviations.
_LEAST_Z: Final = 6.0
# Windows count in which more than this share of the ranks ran.
_SHARED_FRAC: Final = 0.5
_MAD: Final = 1.4826
_MOST_ROWS: Final = 100
# Chunks around a change that it may lie in, and those beside it whose medians it is between.
_NEAR, _BESIDE = 15, 100
_US_PER_MS: Final = 1e3
_NS_PER_S: Final = 1e9
# Processor time tells the one who computes while others wait if it fills this share of the step.
_BUSY_FRAC: Final = 0.8
#: Column of the summaries by what differs; the surest sign of a slow rank first.
_SIGNS: Final = {"step": "sum_us", "input wait": "wait_us", "processor": "cpu_us"}


class SlowRankRow(Row):
    """A rank that exceeds the others."""

    rank: Annotated[str, Column("Rank", kind="name")]
    host: Annotated[str, Column("Host", kind="name")]
    sign: Annotated[
        str,
        Column(
            "Sign",
            kind="category",
            help="Step, wait for input, or processor time: longer than that of the others.",
        ),
    ]
    since_step: Annotated[int, Column("Since step", kind="number", help="Counted from 0.")]
    since: Annotated[str, Column("Since", kind="text", help="UTC.")]
    lasted_s: Annotated[float, Column("Lasted", unit="s", kind="time")]
    is_over: Annotated[bool, Column("Over", kind="flag", help="Ended before the job's last step.")]
    own_ms: Annotated[float, Column("Own", unit="ms", kind="time", help="Mean per step meanwhile.")]
    others_ms: Annotated[
        float, Column("Others", unit="ms", kind="time", help="Median of all ranks meanwhile.")
    ]
    step_frac: Annotated[
        float,
        Column("Excess", unit="%", kind="ratio", help="Share of the others' step.", sort="desc"),
    ]


class JobChangeRow(Row):
    """A lasting change of the median step of all ranks."""

    since_step: Annotated[int, Column("Since step", kind="number", help="Counted from 0.")]
    since: Annotated[str, Column("Since", kind="text", help="UTC.")]
    before_ms: Annotated[float, Column("Before", unit="ms", kind="time")]
    after_ms: Annotated[float, Column("After", unit="ms", kind="time")]
    delta_frac: Annotated[float, Column("Change", unit="%", kind="ratio")]


@dataclass(frozen=True, kw_only=True)
class SlowRanks(Result):
    """The ranks of a job that exceed the others, and since when.

    Attributes:
        headline: The answer in one sentence.
        ranks: Logs of the job.
        steps: Steps of all ranks.
        run_s: From the first step of any rank to the last one.
        step_ms: Median step.
        slow: At most 100 ranks, the sign with the most weight first.
        changes: Lasting changes of all ranks together.
    """

    tool = "slow_ranks"
    headline: str
    ranks: int
    steps: int
    run_s: float
    step_ms: float
    slow: Table[SlowRankRow]
    changes: Table[JobChangeRow]


def slow_ranks(job: Sequence[StepSummaries]) -> SlowRanks:
    """Name the ranks that exceed the others.

    Args:
        job: At least one rank.
    """
    begin = min(int(rank.records["begin_ns"][0]) for rank in job)
    end = max(int(rank.records["end_ns"][-1]) for rank in job)
    chunks = int(np.median([len(rank.records) for rank in job]))
    edges = np.linspace(begin, end, min(max(chunks, 1), _MOST_WINDOWS) + 1)
    means = _windows(job, edges)
    # The last ones to run have nobody to be held against.
    is_shared = np.isfinite(means["step"]).mean(axis=0) > _SHARED_FRAC
    means = {sign: values[:, is_shared] for sign, values in means.items()}
    others = {sign: _lower_median(values) for sign, values in means.items()}
    spans = np.stack([edges[:-1][is_shared], edges[1:][is_shared]])
    slow = [row for sign in _SIGNS for row in _exceeding(job, sign, means[sign], others, spans)]
    usual = job[int(np.argsort([_mean_us(rank) for rank in job])[(len(job) - 1) // 2])]
    changed = list(_changes(usual))
    steps = sum(int(rank.records["steps"].sum()) for rank in job)
    return SlowRanks(
        headline=_headline(len(job), steps, slow, changed),
        ranks=len(job),
        steps=steps,
        run_s=(end - begin) / _NS_PER_S,
        step_ms=_mean_us(usual) / _US_PER_MS,
        slow=Table.from_rows(SlowRankRow, slow[:_MOST_ROWS]),
        changes=Table.from_rows(JobChangeRow, changed),
    )


def _mean_us(rank: StepSummaries) -> float:
    return float(rank.records["sum_us"].sum() / rank.records["steps"].sum())


def _windows(job: Sequence[StepSummaries], edges: F64) -> dict[str, F64]:
    """Mean per step, in µs, by sign: a row per rank, a column per window; NaN without steps."""
    found = {sign: np.empty((len(job), len(edges) - 1)) for sign in _SIGNS}
    for number, rank in enumerate(job):
        records = rank.records
        times = np.concatenate([records["begin_ns"][:1], records["end_ns"]]).astype(np.float64)

        def grown(column: str, records: Any = records, times: F64 = times) -> F64:
            totals = np.concatenate([[0], np.cumsum(records[column], dtype=np.int64)])
            return np.diff(np.interp(edges, times, totals))

        steps = grown("steps")
        steps[steps < 0.5] = np.nan
        for sign, column in _SIGNS.items():
            found[sign][number] = grown(column) / steps
    return found


def _lower_median(values: F64) -> F64:
    """Of each column, without NaN; NaN if there is nothing else."""
    known = np.isfinite(values).sum(axis=0)
    middle = np.maximum(known - 1, 0) // 2
    median: F64 = np.sort(values, axis=0)[middle, np.arange(values.shape[1])]
    return median


def _exceeding(
    job: Sequence[StepSummaries], sign: str, values: F64, others: dict[str, F64], spans: F64
) -> list[dict[str, Any]]:
    """Rows of the ranks that exceed the others in this sign, the most costly first."""
    excess = (values - others[sign]) / np.maximum(others["step"], 1e-3)
    is_known = np.isfinite(excess)
    if sign == "processor":
        is_known &= values >= _BUSY_FRAC * others["step"]
    excess = np.where(is_known, excess, 0.0)
    noise = _MAD * float(np.median(np.abs(excess)))
    best, begins, ends = _heaviest(excess - max(_SLOW_FRAC / 2, noise))
    rows: list[dict[str, Any]] = []
    for rank in np.argsort(-best).tolist():
        begin, end = int(begins[rank]), int(ends[rank])
        part = excess[rank, begin:end]
        if best[rank] <= 0 or len(rows) >= _MOST_ROWS:
            break
        # A pause, such as a checkpoint, is no slow rank: most of the windows have to exceed.
        is_lasting = end - begin >= _LEAST_WINDOWS and float(np.median(part)) >= _SLOW_FRAC
        if is_lasting and float(part.sum()) > _LEAST_Z * noise * len(part) ** 0.5:
            own, usual = (
                float(np.nanmean(one[begin:end])) / _US_PER_MS
                for one in (values[rank], others[sign])
            )
            since = _since(job[rank].records, sign, spans, begin)
            rows.append(
                {
                    "rank": job[rank].name,
                    "host": job[rank].host,
                    "sign": sign,
                    "since_step": int(job[rank].records["first"][since]),
                    "since": _clock(int(job[rank].records["begin_ns"][since])),
                    "lasted_s": float(spans[1, end - 1] - spans[0, begin]) / _NS_PER_S,
                    "is_over": bool(np.isfinite(values[rank, end:]).any()),
                    "own_ms": own,
                    "others_ms": usual,
                    "step_frac": float(part.mean()),
                }
            )
    return rows


def _heaviest(values: F64) -> tuple[F64, NDArray[np.int64], NDArray[np.int64]]:
    """Sum, begin and end of the run of columns with the largest sum, of each row."""
    rows = len(values)
    total, since = np.zeros(rows), np.zeros(rows, np.int64)
    best, begins, ends = np.zeros(rows), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for column, gain in enumerate(np.ascontiguousarray(values.T)):
        since[total <= 0] = column
        total = np.maximum(total, 0) + gain
        is_better = total > best
        best[is_better] = total[is_better]
        begins[is_better], ends[is_better] = since[is_better], column + 1
    return best, begins, ends


def _since(records: NDArray[Any], sign: str, spans: F64, begin: int) -> int:
    """The chunk with which an excess begins: the best split of those around its first window."""
    if begin == 0:
        return 0
    near = spans[0, max(begin - 3, 0)], spans[1, min(begin + 3, spans.shape[1] - 1)]
    low, high = np.searchsorted(records["end_ns"], near).tolist()
    means = records[_SIGNS[sign]][low:high] / records["steps"][low:high]
    return int(low + _split(means)) if high - low > 1 else min(low, len(records) - 1)


def _split(values: F64) -> int:
    """Where the means before and after differ most, as least squares have it."""
    counts = np.arange(1, len(values))
    before = np.cumsum(values)[:-1]
    gap = before / counts - (values.sum() - before) / (len(values) - counts)
    return 1 + int(np.argmax(gap**2 * counts * (len(values) - counts)))


def _changes(rank: StepSummaries) -> Iterator[dict[str, Any]]:
    records = rank.records
    means = records["sum_us"] / records["steps"]
    for change in changes(means.tolist()):
        low, high = max(change.step - _NEAR, 0), change.step + _NEAR
        at = low + _split(means[low:high])
        before, after = (
            float(np.median(part))
            for part in (means[max(at - _BESIDE, 0) : at], means[at:][:_BESIDE])
        )
        yield {
            "since_step": int(records["first"][at]),
            "since": _clock(int(records["begin_ns"][at])),
            "before_ms": before / _US_PER_MS,
            "after_ms": after / _US_PER_MS,
            "delta_frac": after / before - 1,
        }


def _clock(ns: int) -> str:
    return f"{datetime.fromtimestamp(ns / _NS_PER_S, timezone.utc):%Y-%m-%d %H:%M:%S}"


def _headline(
    ranks: int, steps: int, slow: list[dict[str, Any]], changed: list[dict[str, Any]]
) -> str:
    lead = max(changed, key=lambda one: abs(one["delta_frac"]), default=None)
    text = ""
    if lead is not None:
        way = "slower" if lead["delta_frac"] > 0 else "faster"
        who = "All ranks are" if ranks > 1 else "The run is"
        text = (
            f"{who} {share_words(abs(lead['delta_frac']))} {way} since step "
            f"{lead['since_step']:,} ({lead['since']})"
        )
    if slow:
        first = slow[0]
        fact = _fact(first)
        when = f"since step {first['since_step']:,} ({first['since']})"
        if first["is_over"]:
            when = f"{when}, for {time_words(first['lasted_s'] * 1e3)}"
        return f"{text}; {fact}, {when}." if text else f"{fact[0].upper()}{fact[1:]}, {when}."
    if text:
        return f"{text}."
    each = f"{steps / ranks:,.0f} steps each"
    return f"No rank differs: {ranks:,} ranks, {each}." if ranks > 1 else f"Steady: {each}."


def _fact(row: dict[str, Any]) -> str:
    own, others = row["own_ms"], row["others_ms"]
    who = f"rank {row['rank']}" if row["rank"].isdecimal() else row["rank"]
    who += f" on {row['host']}" if row["host"] else ""
    if row["sign"] == "step":
        return f"{who} takes {own / others:.3g} times the median step"
    what = "waits for input" if row["sign"] == "input wait" else "uses processors"
    return f"{who} {what} {time_words(own)} per step, the median {time_words(others)}"
