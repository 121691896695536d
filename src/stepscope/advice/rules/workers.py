"""Rules about workers that compute together: transfers, delays, shares."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stepscope.advice.catalogue import texts
from stepscope.advice.match import Case
from stepscope.advice.render import below, phrase, silent, unknown
from stepscope.columns import distinct
from stepscope.columns.space import F64
from stepscope.records import dataclass
from stepscope.registry import Answer, Silence, Unknown
from stepscope.result import Place, Ref
from stepscope.tables.core.thresholds import (
    ACT_FRAC,
    BUCKET_BYTES,
    CALLS_PER_BATCH,
    COMPARED,
    DISPATCH_US,
    DOZENS,
    FEW,
    HALF_FRAC,
    LATE_MS,
    MOST_FRAC,
    PART_FRAC,
    SHORT_MESSAGE_MS,
    SMALL_MESSAGE_BYTES,
    SOME_FRAC,
)

if TYPE_CHECKING:
    from stepscope.analysis.hung_collectives import HungCollectives, RankRow
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.pod_viewer import PodViewer
    from stepscope.pod.report import Pod, SuspectRow

# Transfers slowly; was given more to do: causes of suspects with rules of their own.
_LINK, _UNEQUAL, _STAGE = "network", "unequal", "stage"
# How sure a suspect is, by how often it was late; of few steps nobody is sure.
_SURE: Final = {"persistent": 1.0, "episodic": 0.75, "once": 0.5}


def collective_bound(case: Case) -> Answer:
    """Fire when exposed transfers cost 3 % of the step and little work could hide them."""
    time = collective_time(case.pod_viewer)
    if time.transfer_ms == 0:
        return silent("no_collective")
    if time.transfer_ms <= time.work_ms:
        return silent("can_hide", transfer_ms=time.transfer_ms, work_ms=time.work_ms)
    is_short = time.transfer_us < DISPATCH_US
    is_small = time.is_matched and time.per_step >= CALLS_PER_BATCH and is_short
    return case.match(
        "collective-bound-small" if is_small else "collective-bound",
        min(time.transfer_ms / 2, time.exposed_ms),  # 16 bits are half the bytes
        sure=time.confidence,
        cost_ms=time.exposed_ms,
        high_ms=time.exposed_ms,
        evidence=_transfer_evidence(time),
        transfer_ms=time.transfer_ms,
        exposed_ms=time.exposed_ms,
        work_ms=time.work_ms,
        collectives_per_step=time.per_step,
        mean_transfer_us=time.transfer_us,
        unmatched=None if time.is_matched else ".",
    )


def exposed_collectives(case: Case) -> Answer:
    """Fire when transfers that work could hide cost 3 % of the step or more."""
    time = collective_time(case.pod_viewer)
    if time.transfer_ms == 0:
        return silent("no_collective")
    if time.transfer_ms > time.work_ms:
        return silent("little_work")
    return case.match(
        "exposed-collectives",
        sure=time.confidence,
        cost_ms=time.exposed_ms,
        evidence=_transfer_evidence(time),
        exposed_ms=time.exposed_ms,
        transfer_ms=time.transfer_ms,
        work_ms=time.work_ms,
        hidden_frac=time.hidden_ms / time.transfer_ms,
    )


def _transfer_evidence(time: CollectiveTime) -> tuple[Ref, ...]:
    rows = (time.longest,) if time.longest else ()
    return (
        Ref("pod_viewer", "workers.transfer_ms"),
        Ref("pod_viewer", "collective_table", rows=rows),
    )


_REDUCES: Final = re.compile(r"all_?reduce|reduce_?scatter")


def gradient_buckets(case: Case) -> Answer:
    """Fire when 20 reductions of less than 1 MiB cost 3 % of the step with nothing beside them."""
    overview = case.overview_page
    steps = max(len(overview.step_table), 1)
    exchanges = case.optional.collectives
    groups = () if exchanges is None else exchanges.groups.records()
    rows = [one for one in groups if _REDUCES.search(one.collective.lower())]
    if not any(one.message_bytes > 0 for one in rows):
        return _between_processes(case, steps)
    small = [one for one in rows if 0 < one.message_bytes < SMALL_MESSAGE_BYTES]
    count = sum(one.count for one in small) / steps
    exposed = sum(one.exposed_ms for one in small) / steps
    if count < DOZENS:
        return silent("few_reductions", count=count)
    carried = sum(one.count * one.message_bytes for one in small) / steps
    buckets = max(carried / BUCKET_BYTES, 1.0)
    # Together they take as long as so few of the same latency, and their bytes at the rate of
    # large messages; where the recording has none, half of the time is a guess.
    large = [one.algorithm_gbps for one in rows if one.message_bytes >= BUCKET_BYTES]
    best = max((rate for rate in large if rate > 0), default=0.0)
    most = exposed * (1 - buckets / count)
    saving = most - carried / best / 1e6 if best else most / 2
    if saving < ACT_FRAC * case.step_ms:
        return case.below(exposed)
    return case.match(
        "gradient-buckets",
        saving,
        sure=1.0 if best else MOST_FRAC,
        cost_ms=exposed,
        high_ms=most,
        evidence=(Ref("collectives", "groups", rows=tuple({one.collective for one in small})),),
        reductions_per_step=count,
        bytes_per_step=carried,
        mean_bytes=carried / count,
        exposed_ms=exposed,
    )


def _between_processes(case: Case, steps: int) -> Answer:
    """Return exchanges of processors, whose sizes nobody notes: many short ones in a row."""
    nothing = unknown("no_sizes")
    account, pod = case.optional.step_account, case.optional.pod_viewer
    ops = case.optional.framework_op_stats
    if account is None or account.has_device or ops is None:
        return nothing
    # The process group's own call, and the one of the library that it makes.
    often = [one.occurrences for one in ops.ops.records() if _REDUCES.search(one.type.lower())]
    workers = 1 if pod is None else max(len(pod.workers), 1)
    count = max(often, default=0) / (steps * workers)
    parts = [one for one in account.part_list() if one.kind == "collective"]
    part = max(parts, key=lambda one: one.time_ms, default=None)
    names = (one.name.lower() for one in account.owners.records() if one.kind == "collective")
    if part is None or not any(map(_REDUCES.search, names)):
        return nothing
    if count < DOZENS or part.time_ms > SHORT_MESSAGE_MS * count:
        return silent("few_reductions", count=count)
    has_place = part.function and part.line
    return case.match(
        "gradient-buckets",
        part.time_ms / 2,
        cost_ms=part.time_ms,
        high_ms=part.time_ms,
        place=Place(part.function, part.file, part.line or 0, part.caller) if has_place else None,
        evidence=(Ref("step_account", "parts", rows=(part.name,)), Ref("pod_viewer", "workers")),
        reductions_per_step=count,
        exposed_ms=part.time_ms,
        mean_ms=part.time_ms / count,
    )


# ---------------------------------------------------------------------------- shares of work


def unbalanced_devices(case: Case) -> Answer:
    """Fire when equal shares would shorten the busiest device's work by 5 % of the step."""
    overview, pod = case.overview_page, case.pod_viewer
    work = np.asarray(pod.workers["device_work_ms"], dtype=np.float64)
    if len(work) < 2 or not work.max(initial=0.0) > 0:
        many = overview.environment.device_count
        return unknown("one_of_devices", count=many) if many > 1 else silent("one_device")
    excess = float(work.max() - work.mean())
    if excess < SOME_FRAC * case.step_ms:
        return case.below(excess)
    if overview.steps.count < FEW:
        return unknown("few_counted", count=overview.steps.count)
    kernels = case.optional.kernel_stats
    by_device = [] if kernels is None else list(kernels.by_device.records())
    counts = _by_worker({(row.host, row.device): row.occurrences for row in by_device}, pod)
    # A device whose kernels are in the recording but in no step was not idle: its clock is off.
    recorded = _by_worker({(row.host, row.device): row.total_duration_us for row in by_device}, pod)
    idle = _is_small(work) if recorded is None else _is_small(work) & _is_small(recorded)
    unused, busiest = int(idle.sum()), int(work.argmax())
    more = _more_kernels(counts, busiest)
    if not unused and (more is None or more < PART_FRAC):
        return silent("unequal_unknown" if more is None else "equal_kernels")
    worker = list(pod.workers.records())[busiest]
    return case.match(
        "unused-devices" if unused else "unbalanced-devices",
        excess,
        evidence=(
            Ref("pod_viewer", "workers.device_work_ms", rows=(worker.device,)),
            Ref("kernel_stats", "by_device"),
        ),
        device=f"{worker.device} of {worker.host}",
        excess_ms=excess,
        busiest_ms=float(work.max()),
        mean_ms=float(work.mean()),
        least_ms=float(work.min()),
        more_frac=None if unused or more is None or more == float("inf") else more,
        unused_devices=unused,
        devices=len(work),
    )


def _is_small(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return which devices are not in use, by their work."""
    found: np.ndarray[Any, Any] = values < SOME_FRAC * values.max()
    return found


def _by_worker(
    by_name: Mapping[tuple[str, str], float], pod: PodViewer
) -> np.ndarray[Any, Any] | None:
    """Return a total of kernel_stats by worker; None where kernels are not known by device."""
    keys = [(row.host, row.device.removeprefix("/device:")) for row in pod.workers.records()]
    found = [by_name.get(key, 0) for key in keys]
    return np.asarray(found, dtype=np.float64) if any(found) else None


def _more_kernels(counts: np.ndarray[Any, Any] | None, busiest: int) -> float | None:
    """Return by what share the busiest device runs more kernels than the mean of the others."""
    if counts is None:
        return None
    others = np.delete(counts, busiest).mean()
    return float(counts[busiest] / others - 1) if others else float("inf")


# ---------------------------------------------------------------------------- suspects of a pod


def slow_link(case: Case) -> Answer | Iterator[Answer]:
    """Fire when slow transfers through one set of links cost 3 % of the step or more."""
    found = [row for row in _costly(case.pod) if row.cause == _LINK]
    return _suspected("slow-link", case, found) if found else silent("no_link")


def unequal_stages(case: Case) -> Answer | Iterator[Answer]:
    """Fire when a stage's larger share costs 3 % of the step or more."""
    found = [row for row in _costly(case.pod) if (row.cause, row.kind) == (_UNEQUAL, _STAGE)]
    if not found:
        return silent("no_stage_excess")
    return _suspected("unequal-stages", case, found)


def straggler(case: Case) -> Answer | Iterator[Answer]:
    """Fire when one worker costs the others 3 % of the step or more."""
    pod, workers = case.optional.pod, case.optional.pod_viewer
    suspects = _costly(pod)
    own = [
        row
        for row in suspects
        if row.cause != _LINK and (row.cause, row.kind) != (_UNEQUAL, _STAGE)
    ]
    if own:
        return _suspected("straggler", case, own)
    if suspects:
        return silent("other_suspect")
    if workers is not None:
        return _last_worker(workers, case)
    return unknown("no_steps") if pod is None else silent("no_suspect", count=pod.devices_found)


def _costly(pod: Pod | None) -> list[SuspectRow]:
    """Return suspects that cost 3 % of the step or more, the most expensive first."""
    rows = [] if pod is None else list(pod.suspects.records())
    return [row for row in rows if row.cost_frac >= ACT_FRAC]


def _suspected(cause: str, case: Case, suspects: list[SuspectRow]) -> Iterator[Answer]:
    """Yield what all recordings together say of the foremost suspects.

    What one saves alone is expected, but where others are slow with it: they hide it until they
    are fixed as well. Then its cost is expected, and the saving alone is the least.
    """
    advice, pod = texts("advice"), case.pod
    for row in suspects[:FEW]:
        alone = max(row.saving_ms, 0.0)
        is_hidden = alone < row.cost_ms / 2
        is_sure = pod.counted_steps >= FEW
        yield case.match(
            cause,
            row.cost_ms if is_hidden else alone,
            sure=_SURE[row.pattern] if is_sure else HALF_FRAC,
            step_ms=pod.step_ms,
            cost_ms=row.cost_ms,
            low_ms=alone if is_hidden else None,
            high_ms=max(row.cost_ms, alone),
            evidence=(Ref("pod", "suspects.cost_ms", rows=(row.name,)), Ref("pod", "evidence")),
            error_ms=row.error_ms,
            worker=row.name,
            kind=row.kind,
            more={"cause": row.cause},
            pattern=row.pattern,
            late_frac=row.late_frac,
            evidence_text=row.evidence or None,
            since_step=None if math.isnan(row.since_step) else int(row.since_step),
            advice=advice.get(row.cause, advice["compare"]),
        )


def _last_worker(workers: PodViewer, case: Case) -> Answer:
    """Return who arrives last, of workers however few."""
    step = workers.step_time_ms
    if not step > 0:
        return unknown("no_steps")
    if len(workers.workers) < 2:
        return _alone(collective_time(workers), case.optional.overview_page)
    if (apart := processor_waits(workers)) is not None:
        return _last_processor(apart, case, step)
    found, advice = workers.straggler, texts("advice")
    if found is None:
        return below(0.0, step, ACT_FRAC)
    return case.match(
        "straggler",
        found.caused_wait_ms,
        step_ms=step,
        sure=HALF_FRAC if found.last_frac is None else 1.0,
        evidence=(Ref("pod_viewer", "workers.caused_wait_ms", rows=(found.device or found.host,)),),
        details=(found.message,),
        caused_wait_ms=found.caused_wait_ms,
        worker=f"{found.device} of {found.host}" if found.device else found.host,
        more={"cause": found.cause or phrase("none")},
        cause_ms=found.cause_ms,
        last_frac=found.last_frac,
        advice=advice.get(found.cause, advice["compare"]),
    )


def _last_processor(found: ProcessorWaits, case: Case, step: float) -> Answer:
    """Return who comes last to collectives of processors, of workers however few."""
    if found.waited_ms < ACT_FRAC * step or found.last_frac < MOST_FRAC:
        return silent("no_last", cost_frac=found.waited_ms / step)
    return case.match(
        "straggler",
        found.caused_ms,
        step_ms=step,
        evidence=(Ref("pod_viewer", "pod.collective_transfer_ms"),),
        worker=found.last,
        caused_wait_ms=found.caused_ms,
        more={"cause": found.part},
        cause_ms=found.part_ms,
        last_frac=found.last_frac,
        advice=texts("advice")["alone"],
    )


def _alone(time: CollectiveTime, overview: OverviewPage | None) -> Silence | Unknown:
    """Return what one worker's recording says of others."""
    many = 1 if overview is None else overview.environment.device_count
    if many > 1:
        return unknown("one_of_devices", count=many)
    return silent("one_worker") if time.transfer_ms == 0 else unknown("one_worker")


def worker_skew(case: Case) -> Answer:
    """Fire when workers wait 3 % of the step for others and no single one is to blame."""
    pod = case.pod_viewer
    time = collective_time(pod)
    if time.on_host and time.transfer_ms > 0:
        return unknown("processors")
    if not time.is_matched:
        return silent("no_matched")
    late = pod.straggler
    if late is not None and late.caused_wait_ms >= HALF_FRAC * time.waited_ms:
        return silent("a_straggler")
    most = max(float(value) for value in pod.workers["waited_ms"])
    return case.match(
        "worker-skew",
        time.waited_ms,
        sure=HALF_FRAC if len(pod.step_nums) < FEW else 1.0,
        high_ms=most,
        evidence=(
            Ref("pod_viewer", "workers.waited_ms"),
            Ref("pod_viewer", "collective_table", rows=(time.longest,)),
        ),
        waited_ms=time.waited_ms,
        most_waited_ms=most,
        steps=len(pod.step_nums),
    )


def hung_collective(case: Case) -> Answer:
    """Fire when a rank is missing, calls something else, or is nearly always last."""
    found = case.hung_collectives
    stuck = [*found.stuck.records()]
    late = _late_rank(found)
    if found.is_stuck:
        differs = [one for one in stuck if one.differing]
        return case.match(
            "hung-collective" if len(differs) < len(stuck) else "different-collectives",
            severity="high",
            evidence=(Ref("hung_collectives", "stuck.missing"),),
            headline=found.headline,
            collectives=len(stuck),
            missing="; ".join(dict.fromkeys(one.missing for one in stuck if one.missing)) or None,
            differing="; ".join(dict.fromkeys(one.differing for one in differs)) or None,
            behind=sum(one.behind for one in stuck),
        )
    elif late is not None:
        return case.match(
            "late-rank",
            severity="medium",
            evidence=(Ref("hung_collectives", "ranks.late_ms", rows=(late.rank,)),),
            headline=found.headline,
            rank=late.rank,
            came_last=late.came_last,
            late_ms=late.late_ms,
        )
    elif stuck:
        return unknown("headline", headline=found.headline)
    else:
        return silent("headline", headline=found.headline)


def _late_rank(found: HungCollectives) -> RankRow | None:
    """Return the rank that nearly always comes last, where there is one."""
    ranks = [*found.ranks.records()]
    compared = sum(one.came_last for one in ranks)
    worst = max(ranks, key=lambda one: one.late_ms, default=None)
    is_few = compared < COMPARED
    if worst is None or is_few or worst.came_last < MOST_FRAC * compared:
        return None
    return worst if worst.late_ms >= LATE_MS * worst.came_last else None


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """Means over the workers, per step.

    Attributes:
        exposed_ms: Transfers that the step waits for.
        hidden_ms: Transfers behind other work.
        waited_ms: Waits for the last worker to arrive.
        work_ms: Compute and copies of the device; the host's compute where there is none.
        per_step: Collectives in a step.
        transfer_us: Mean transfer of one.
        longest: Name of the collective with the most time in transfers; "" when none matched.
        on_host: Whether the workers are processors, which nothing matches.
        is_matched: Whether the collectives of several workers are in the recording. Where not,
            waits for workers that were not recorded count as transfers.
    """

    exposed_ms: float
    hidden_ms: float
    waited_ms: float
    work_ms: float
    per_step: float
    transfer_us: float
    longest: str
    on_host: bool
    is_matched: bool

    @property
    def confidence(self) -> float:
        """0–1, how much is known of the other workers."""
        return 1.0 if self.is_matched else 0.5

    @property
    def transfer_ms(self) -> float:
        """All transfers, exposed and hidden."""
        return self.exposed_ms + self.hidden_ms


def collective_time(pod: PodViewer) -> CollectiveTime:
    """Communication of the mean worker in the mean step, from pod_viewer."""
    workers, table = pod.workers, list(pod.collective_table.records())
    count = sum(row.occurrences for row in table)
    time_ms = {row.name: row.occurrences * row.transfer_mean_ms for row in table}
    steps = len(pod.step_nums)
    on_host = bool(len(workers)) and all(kind == "CPU" for kind in workers["device_type"])
    work = pod.pod["host_compute_ms"] if on_host else workers["device_work_ms"]
    apart = processor_waits(pod) if on_host and not table else None
    return CollectiveTime(
        exposed_ms=apart.transfer_ms if apart is not None else _mean(workers["transfer_ms"]),
        hidden_ms=_mean(workers["hidden_transfer_ms"]),
        waited_ms=apart.waited_ms if apart is not None else _mean(workers["waited_ms"]),
        work_ms=_mean(work),
        per_step=count / steps if steps else 0.0,
        transfer_us=sum(time_ms.values()) * 1000 / count if count else float("nan"),
        longest=max(time_ms, key=lambda name: time_ms[name]) if time_ms else "",
        on_host=on_host,
        is_matched=bool(table),
    )


def _mean(values: Any) -> float:
    found = np.asarray(values, dtype=np.float64)
    return float(found.mean()) if len(found) else 0.0


# ---------------------------------------------------------------------------- processors

# Nothing matches collectives of processors (gloo, MPI) one by one. But all workers leave one
# together, so the one that spends the least time in those of a step came last to them, and has at
# least the transfers in it: what the others spend more, they wait.

# Parts of a step in which one worker may take longer than the others.
_PARTS = (
    "host_compute_ms",
    "input_ms",
    "output_ms",
    "compilation_ms",
    "host_wait_ms",
    "other_ms",
)


@dataclass(frozen=True, slots=True)
class ProcessorWaits:
    """Means over the counted steps.

    Attributes:
        transfer_ms: At most what transfers take: what the worker that waits least spends in them.
        waited_ms: What the mean worker waits for others.
        last: Host of the worker that comes last in most steps.
        last_frac: In which share of the steps it does.
        caused_ms: What the other workers wait for it, the mean of them in those steps, over all.
        part: The part of the step that is longer by most there, a column of the pod's.
        part_ms: By how much.
    """

    transfer_ms: float
    waited_ms: float
    last: str
    last_frac: float
    caused_ms: float
    part: str
    part_ms: float


def processor_waits(pod: PodViewer) -> ProcessorWaits | None:
    """None where fewer than two processors work in the same counted steps."""
    workers, table = pod.workers, pod.pod
    if len(workers) < 2 or any(kind != "CPU" for kind in workers["device_type"]):
        return None
    kept = np.asarray(table["kept"], dtype=bool)
    who = np.asarray(table["worker"], dtype=np.int64)[kept]
    step = np.asarray(table["step_num"], dtype=np.int64)[kept]
    order = np.lexsort((who, step))
    ranks, nums = distinct(who), distinct(step)
    if len(ranks) < 2 or len(order) != len(ranks) * len(nums):
        return None

    def of(column: str) -> F64:
        values: F64 = np.asarray(table[column], dtype=np.float64)[kept][order]
        by_step: F64 = values.reshape(len(nums), len(ranks))
        return by_step

    spent = of("collective_transfer_ms")
    least = spent.min(axis=1, keepdims=True)
    came_last = spent.argmin(axis=1)
    last = int(np.bincount(came_last).argmax())
    others = np.delete(spent, last, axis=1)
    caused = (others.mean(axis=1) - spent[:, last]) * (came_last == last)
    longer = {}
    for part in _PARTS:
        taken = of(part)
        longer[part] = float((taken[:, last] - np.delete(taken, last, axis=1).mean(axis=1)).mean())
    part = max(longer, key=lambda one: longer[one])
    hosts = dict(zip(who.tolist(), np.asarray(table["host"])[kept].tolist(), strict=True))
    return ProcessorWaits(
        transfer_ms=float(least.mean()),
        waited_ms=float((spent - least).mean()),
        last=hosts[int(ranks[last])],
        last_frac=float((came_last == last).mean()),
        caused_ms=float(caused.mean()),
        part=part,
        part_ms=longer[part],
    )
