"""Rules about what devices do, and do not do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isnan, nan, prod
from typing import TYPE_CHECKING, Final

from stepscope.advice.catalogue import causes
from stepscope.advice.evidence.copies import host_memory_ops
from stepscope.advice.evidence.device_time import (
    compute_ms,
    computing_us,
    factors_matrices,
    has_bf16,
    has_matrix_units,
    has_tf32,
    idle_ref,
    is_float32,
    is_product,
    kernel_name,
    kernel_time,
    kernels_per_step,
    launch_calls,
    may_be_the_recorders,
    no_matrix_units,
)
from stepscope.advice.evidence.lines import place_of_op, place_of_part
from stepscope.advice.match import Case
from stepscope.advice.render import below, first_names, listed, silent, unknown
from stepscope.records import dataclass, replace
from stepscope.registry import Answer
from stepscope.result import Place, Ref, Severity
from stepscope.tables.core.thresholds import (
    ACT_FRAC,
    ALARM_FRAC,
    DISPATCH_US,
    FAIR_FRAC,
    FEW,
    GOOD_ROOF_FRAC,
    HALF_FRAC,
    KEYS,
    LAUNCH_US,
    LITTLE_FRAC,
    MOST_FRAC,
    NEARLY_ALL_FRAC,
    PART_FRAC,
    SLOW_LAUNCH_US,
    THIRD_FRAC,
)
from stepscope.tables.device.kernel_names import computes_in_64_bits
from stepscope.tables.traits.op_families import family_of as op_family_of
from stepscope.tables.traits.op_families import is_elementwise
from stepscope.tables.traits.updates import is_update
from stepscope.verdicts.sentences import key_of

if TYPE_CHECKING:
    from stepscope.analysis.device_idle import DeviceIdle
    from stepscope.analysis.framework_op_stats import OpRow
    from stepscope.analysis.kernel_stats import KernelRow, KernelStats
    from stepscope.analysis.model_flops import ModelFlops, ShapedOpRow
    from stepscope.analysis.overview_page import OverviewPage, Precision
    from stepscope.analysis.roofline_model import RooflineRow
    from stepscope.analysis.step_account import AccountPart, OwnerRow, StepAccount

_TORCH: Final = "PyTorch"


# ---------------------------------------------------------------------------- idle and launches

# What a host does that launches, and that nothing is recorded of between launches.
_LAUNCHING: Final = ("kernel_launch", "host_compute", "other", "queued")
# What the host does by itself.
_HOST: Final = ("python", "library", "framework", "eager", "compile", "input", "wait")


def idle_device(case: Case) -> Answer:
    """Fire when devices idle 10 % of the step or more."""
    overview, idle = case.overview_page, case.device_idle
    step, account = case.step_ms, case.optional.step_account
    causes = [row for row in idle.causes.records() if row.idle_ms >= LITTLE_FRAC * step]
    causes.sort(key=lambda row: -row.idle_ms)
    has_host = "host" in overview.recorded
    meanwhile = _meanwhile(case, idle.idle_ms)
    own = _host_ops(account) if meanwhile is None else None
    own = own if own is not None and own.time_ms >= PART_FRAC * idle.idle_ms else None
    kinds = (*_LAUNCHING, "python") if meanwhile is None else _LAUNCHING
    launching = sum(row.idle_ms for row in causes if row.cause in kinds)
    is_recorded = launching >= MOST_FRAC * idle.idle_ms
    is_recorded = is_recorded and may_be_the_recorders(case, overview)
    cause = "idle-device" if has_host else "idle-unseen-host"
    place = None if own is None else own.place
    if meanwhile is not None:
        place = place_of_part(meanwhile)
        place = place if place.function or place.op else replace(place, call=meanwhile.name)
    elif own is not None:
        cause = "idle-host-ops"
    if has_host and own is None and causes and causes[0].cause == "wait":
        cause = "idle-host-waits"
    return case.match(
        cause,
        idle.idle_ms,
        severity="info" if is_recorded else None,
        cost_ms=idle.idle_ms,
        place=place,
        evidence=_idle_evidence(idle),
        idle_ms=idle.idle_ms,
        idle_frac=idle.idle_frac,
        after_wait_ms=idle.after_wait_ms,
        largest=causes[0].label.lower() if causes else None,
        causes=listed((row.label.lower(), row.idle_ms / step) for row in causes) or None,
        host_ops=None if own is None else first_names(own.names),
        host_ops_ms=None if own is None else own.time_ms,
        more={f"{row.cause}_ms": row.idle_ms for row in causes},
    )


def _idle_evidence(idle: DeviceIdle) -> tuple[Ref, ...]:
    gap = next(iter(idle.gaps.records()), None)
    begin = None if gap is None else float(gap.start_ms)
    return (
        Ref("device_idle", "causes.idle_ms"),
        Ref(
            "trace_viewer",
            rows=() if gap is None else (gap.device,),
            from_ms=begin,
            to_ms=None if gap is None or begin is None else begin + gap.duration_us / 1000,
        ),
    )


def _meanwhile(case: Case, idle_ms: float) -> AccountPart | None:
    """Return the part of the step that the host spends most of the idle time on.

    An op is the host's where the recording has the line that launched the others.
    """
    account = case.optional.step_account
    parts = [] if account is None else list(account.part_list())
    has_launches = any(one.holds("is_launched") for one in parts)
    own = [
        one
        for one in parts
        if one.kind in _HOST
        or (one.kind == "op" and has_launches and not (one.on_device or one.holds("is_launched")))
    ]
    largest = max(own, key=lambda one: one.time_ms, default=None)
    is_most = largest is not None and largest.time_ms >= HALF_FRAC * idle_ms
    return largest if is_most else None


# Ops that make room, or look at a tensor otherwise, compute nothing.
_MAKES_ROOM: Final = ("empty", "detach", "view", "select", "slice", "resize", "set_", "as_strided")


@dataclass(frozen=True, slots=True)
class _HostOps:
    """Ops that the host computes itself.

    Attributes:
        names: The longest first.
        time_ms: Of a step.
        place: Where most of them are called from; None unknown.
    """

    names: tuple[str, ...]
    time_ms: float
    place: Place | None


def _host_ops(account: StepAccount | None) -> _HostOps | None:
    """Those of a step that is shared with a device; None without.

    An op that takes a device longer than the host was handed over, and not computed there; so was
    one that both run, if the host is done with it as soon as with a launch.
    """
    if account is None or not account.has_device:
        return None
    here: dict[str, list[OwnerRow]] = {}
    there: dict[str, float] = {}
    for one in account.owners.records():
        if one.kind != "op" or one.name.partition("/")[2].startswith(_MAKES_ROOM):
            continue
        name = one.name.partition(" and ")[0]
        if one.on_device:
            there[name] = there.get(name, 0.0) + one.time_ms
        else:
            here.setdefault(name, []).append(one)
    time = {name: sum(one.time_ms for one in own) for name, own in here.items()}
    launches = {name: sum(one.stretches for one in own) for name, own in here.items()}
    names = [
        name
        for name in time
        if name not in there or time[name] > max(there[name], launches[name] * DISPATCH_US / 1000)
    ]
    if not names:
        return None
    names.sort(key=lambda name: -time[name])
    whole = sum(time[name] for name in names)
    largest = max((one for name in names for one in here[name]), key=lambda one: one.time_ms)
    of_function = sum(
        one.time_ms for name in names for one in here[name] if one.function == largest.function
    )
    if not largest.function or of_function < HALF_FRAC * whole:
        return _HostOps(tuple(names), whole, None)
    place = Place(largest.function, largest.file, largest.line or 0, largest.caller)
    return _HostOps(tuple(names), whole, place)


def device_copies(case: Case) -> Answer:
    """Fire when copies on and between devices cost 10 % of the step or more."""
    copying = float(case.overview_page.breakdown_ms["device_to_device"])
    offloaded, ops = host_memory_ops(case.optional.hlo_stats)
    return case.match(
        "device-copies",
        copying / 2,
        cost_ms=copying,
        high_ms=copying,
        evidence=(
            Ref("overview_page", "breakdown_ms.device_to_device"),
            Ref("hlo_stats", "category=copy-done", rows=ops)
            if ops
            else Ref("device_idle", "copies"),
        ),
        device_to_device_ms=copying,
        offloaded_frac=offloaded or None,
    )


def tiny_kernels(case: Case) -> Answer:
    """Fire when launches cost 3 % of the step and most kernels are shorter than a launch."""
    overview, kernels = case.overview_page, case.kernel_stats
    idle = case.optional.device_idle
    each = kernels_per_step(kernels, overview)
    calling, dispatching = _waiting_ms(overview, idle, each)
    launching = calling + dispatching
    waits = 0.0 if idle is None else sum(row.per_step for row in idle.waits.records())
    if waits >= each:
        return silent("reads", waits=waits, kernels=each)
    everything = kernel_time(kernels, overview)
    tiny = kernel_time(kernels, overview, lambda row: row.avg_duration_us < LAUNCH_US)
    share = tiny.occurrences / everything.occurrences if everything.occurrences else 0.0
    launch_us = nan if idle is None else launch_calls(idle)[1]
    if share < HALF_FRAC:
        return silent("long_kernels", tiny_frac=share)
    if launch_us > SLOW_LAUNCH_US:
        return silent("slow_launch", launch_us=launch_us)
    # A step of nothing else is too finely cut, however fast its host launches.
    is_recorded = share < NEARLY_ALL_FRAC and may_be_the_recorders(case, overview)
    beside = 0.0
    if idle is not None and overview.environment.framework == _TORCH:
        # Ops are called in it: nothing is recorded between them.
        beside = sum(float(row.idle_ms) for row in idle.causes.records() if row.cause == "other")
    return case.match(
        "tiny-kernels",
        launching * share,
        severity="info" if is_recorded else None,
        cost_ms=launching,
        high_ms=launching + share * beside,
        evidence=(
            idle_ref("kernel_launch", *(["host_compute"] if dispatching else [])),
            Ref("overview_page", "breakdown_ms.kernel_launch"),
        ),
        kernels_per_step=each,
        tiny_frac=share,
        mean_tiny_kernel_us=tiny.mean_us,
        mean_launch_us=launch_us,
        waiting_ms=launching,
        launches_ms=calling,
        dispatch_ms=dispatching or None,
    )


def _waiting_ms(
    overview: OverviewPage, idle: DeviceIdle | None, kernels: float
) -> tuple[float, float]:
    """Return the times per step that the device waits for launches, and for the ops of them."""
    if idle is None:
        return float(overview.breakdown_ms["kernel_launch"]), 0.0
    causes = {row.cause: float(row.idle_ms) for row in idle.causes.records()}
    # PyTorch runs its ops one by one on the host: their time is the price of a launch, too. An op
    # that takes longer for each than its dispatch computes on the host.
    dispatch = causes["host_compute"] if overview.environment.framework == _TORCH else 0.0
    if kernels > 0:
        dispatch = min(dispatch, kernels * DISPATCH_US / 1000)
    return causes["kernel_launch"], dispatch


# ---------------------------------------------------------------------------- fusion

# PyTorch's own kernels, of which each is one op; optimizers and distributions are fused already.
_OWN_KERNEL: Final = re.compile(r"at::native::(?<!\wat::native::)|at_cuda_detail::")
_ELEMENTWISE: Final = ("elementwise", "reduction")


def unfused_ops(case: Case) -> Answer:
    """Fire when PyTorch's long elementwise kernels cost 15 % of the step or more."""
    overview, kernels = case.overview_page, case.kernel_stats

    def is_unfused(row: KernelRow) -> bool:
        is_long = row.total_duration_us >= LAUNCH_US * row.occurrences
        is_candidate = is_long and row.kernel_class in _ELEMENTWISE
        return is_candidate and _OWN_KERNEL.search(row.name) is not None

    found = kernel_time(kernels, overview, is_unfused)
    if found.step_ms < ALARM_FRAC * case.step_ms:
        return case.below(found.step_ms)
    between = kernel_time(kernels, overview, lambda row: row.kernel_class not in _ELEMENTWISE)
    if found.occurrences < 2 * between.occurrences:
        return silent("no_chains", count=found.occurrences, others=between.occurrences)
    return case.match(
        "unfused-ops",
        cost_ms=found.step_ms,
        evidence=(Ref("kernel_stats", "kernels.share_frac", rows=found.names),),
        unfused_ms=found.step_ms,
        kernels_frac=found.share_frac,
        mean_us=found.mean_us,
        kernels=", ".join(map(kernel_name, found.names[:2])),
    )


def no_xla(case: Case) -> Answer:
    """Fire when at least four elementwise ops of TensorFlow or JAX take 40 % of op time."""
    overview, stats = case.overview_page, case.framework_op_stats
    if overview.environment.framework == _TORCH:
        return silent("no_xla")
    on_device = stats.device.op_time_us > 0
    rows = _ops_of_step(case, "Device" if on_device else "Host")
    whole = sum(one.self_time_us for one in rows)
    alone = [one for one in rows if is_elementwise(one.operation, op_family_of(one.type))]
    if not whole:
        return unknown("no_op")
    compiled = sum(one.self_time_us for one in rows if one.operation.startswith(("jit(", "pjit(")))
    if compiled >= HALF_FRAC * whole:
        return silent("compiled_ops")
    compute = compute_ms(overview) if on_device else float(overview.breakdown_ms["host_compute"])
    cost = sum(one.self_time_us for one in alone) / whole * compute
    account = case.optional.step_account
    if not on_device and account is not None:  # fusing updates is a matter of the optimizer
        parts = (part for part in account.part_list() if part.kind == "op")
        cost = max(cost - sum(part.time_ms for part in parts if is_update(part.name)), 0.0)
    share = cost / compute if compute > 0 else 0.0
    if share < THIRD_FRAC or len(alone) <= FEW:
        return silent("few_elementwise", elementwise_frac=share)
    # The caches of a host hold what a chain passes on.
    severity: Severity | None = None if on_device or share >= MOST_FRAC else "info"
    alone.sort(key=lambda one: -one.self_time_us)
    share_of = f"{'device' if on_device else 'host'}_self_time_frac"
    return case.match(
        "no-xla",
        cost / 2,  # of n ops in a chain fusing leaves two in n + 1 passes over memory
        cost_ms=cost,
        severity=severity,
        high_ms=cost,
        evidence=(Ref("framework_op_stats", share_of, rows=tuple(o.operation for o in alone)),),
        elementwise_frac=share,
        elementwise_ms=cost,
        elementwise_ops=len(alone),
    )


def _ops_of_step(case: Case, side: str) -> list[OpRow]:
    """Return the ops on one side; what tf.data's threads run beside the step is not its own."""
    pipeline = case.optional.tf_data_bottleneck_analysis
    beside = set() if pipeline is None else set(pipeline.function_ops["operation"])
    return [
        one
        for one in case.framework_op_stats.ops.records()
        if one.host_or_device == side and one.operation not in beside
    ]


_SOFTMAX: Final = re.compile(r"::_?(safe_)?softmax")
_PRODUCT: Final = re.compile(r"::(bmm|baddbmm|matmul|einsum)")
_Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Attention:
    """The ops on scores of one shape: their names, the longest first, and their device times."""

    scores: _Shape
    ops: tuple[str, ...]
    products_us: float
    others_us: float
    compute_us: float


def separate_attention(case: Case) -> Answer:
    """Fire when attention in separate ops costs 10 % of the step or more."""
    model = case.model_flops
    found = list(_attentions(model))
    if not found:
        return silent("no_attention")
    runs = max(model.utilisation.steps, 1) * max(model.limits.device_count, 1) * 1e3
    time = sum(one.products_us + one.others_us for one in found) / runs
    # A fused kernel computes as much of the products, but moves no scores.
    saved = sum(one.others_us + one.products_us / 2 for one in found) / runs
    most = time - sum(one.compute_us for one in found) / runs
    longest = max(found, key=lambda one: one.products_us + one.others_us)
    return case.match(
        "separate-attention",
        saved,
        cost_ms=time,
        high_ms=max(saved, most),
        place=place_of_op(case.optional.step_account, longest.ops[0].replace("::", "/")),
        evidence=(Ref("model_flops", "ops", rows=tuple(op for one in found for op in one.ops)),),
        attention_ms=time,
        shape="×".join(map(str, longest.scores)),
        ops=first_names(longest.ops),
    )


def _attentions(model: ModelFlops) -> Iterator[_Attention]:
    """Yield the attentions whose softmax has a product before and after it."""
    rows = [(row, _shapes(row.shapes)) for row in model.ops.records()]
    seen: set[_Shape] = set()
    for softmax, shapes in rows:
        scores = shapes[0] if shapes else ()
        is_like = len(scores) > 2 and scores[-1] >= KEYS
        if not _SOFTMAX.search(softmax.op) or not is_like or _flat(scores) in seen:
            continue
        seen.add(_flat(scores))
        products = [
            (row, one)
            for row, one in rows
            if _PRODUCT.search(row.op) and (_reads(one, scores) or _writes(one, scores))
        ]
        if any(_writes(one, scores) for _, one in products) and any(
            _reads(one, scores) for _, one in products
        ):
            others = [
                row for row, one in rows if not _PRODUCT.search(row.op) and _reads(one, scores)
            ]
            yield _attention(scores, [row for row, _ in products], others)


def _attention(
    scores: _Shape, products: list[ShapedOpRow], others: list[ShapedOpRow]
) -> _Attention:
    ordered = sorted([*products, *others], key=lambda row: -row.device_time_us)
    return _Attention(
        scores=scores,
        ops=tuple(dict.fromkeys(row.op for row in ordered)),
        products_us=sum(row.device_time_us for row in products),
        others_us=sum(row.device_time_us for row in others),
        compute_us=sum(
            row.device_time_us * min(row.peak_frac, 1.0)
            for row in products
            if row.peak_frac is not None and row.peak_frac == row.peak_frac
        ),
    )


def _shapes(text: str) -> list[_Shape]:
    """Return the shapes of an op's inputs; () of one that has none, as numbers have."""
    return [
        tuple(int(part) for part in one.split("×")) if re.fullmatch(r"\d+(×\d+)*", one) else ()
        for one in text.split(", ")
    ]


def _flat(shape: _Shape) -> _Shape:
    """Return a shape with all dimensions but the last two as one, as batched products have."""
    return (prod(shape[:-2]), *shape[-2:])


def _reads(shapes: list[_Shape], scores: _Shape) -> bool:
    return any(len(one) > 2 and _flat(one) == _flat(scores) for one in shapes)


def _writes(shapes: list[_Shape], scores: _Shape) -> bool:
    """Return whether the product of the last two shapes has the shape of the scores."""
    if len(shapes) < 2 or min(len(one) for one in shapes[-2:]) <= 2:
        return False
    left, right = shapes[-2:]
    return _flat((*left[:-1], right[-1])) == _flat(scores)


# ---------------------------------------------------------------------------- precision and layout


@dataclass(frozen=True, slots=True)
class _Wide:
    """Time per step, in ms, of work in 32 bits or more, and what is known of it."""

    products: float
    tf32_products: float
    others: float
    names: tuple[str, ...]
    kernels_frac: float = 0.0
    is_exact: bool = False
    is_known: bool = False
    is_double: bool = False

    def saving(self, which: int) -> float:
        """Return the expected (1) or largest (2) saving per step, in ms."""
        narrow, known = self.tf32_products + self.others, causes()
        on_tensor_cores = self.products * known["tensor-cores-unused"].goes[which]
        return on_tensor_cores + narrow * known["full-precision"].goes[which]


def full_precision(case: Case) -> Answer:
    """Fire when nearly no compute is 16-bit, or 32-bit products cost a fifth of the step."""
    overview, kernels = case.overview_page, case.optional.kernel_stats
    low, device = overview.precision.bits_16_frac, overview.environment.device_type
    untold = overview.precision.unknown_frac or 0.0
    step = overview.steps.time_ms.mean
    if low is None:
        return unknown("no_device_compute")
    if not has_matrix_units(device):
        return no_matrix_units(device)
    if untold > HALF_FRAC:
        return unknown("precision", untold_frac=untold)
    wide = _wide(overview, kernels)
    products = wide.products + wide.tf32_products
    if low >= PART_FRAC and not (step > 0 and products >= FAIR_FRAC * step):
        return silent("narrow", low_frac=low)
    if not products and not key_of(overview.environment.framework) and kernels is not None:
        return unknown("own_kernels")
    if step > 0 and compute_ms(overview) < PART_FRAC * step:
        return below(compute_ms(overview), step, PART_FRAC)
    severity: Severity | None = None if step > 0 else "low"
    if _is_a_choice(wide, step, device):
        severity = "info"
    cause = "full-precision" if has_bf16(device) else "full-precision-float16"
    if wide.is_double:
        cause = "double-precision"
    elif has_tf32(device) and wide.products >= PART_FRAC * step > 0:
        cause = "tf32-off-first"
    return case.match(
        cause,
        wide.saving(1) if step > 0 else None,
        step_ms=step,
        severity=severity,
        high_ms=wide.saving(2) if step > 0 else None,
        evidence=(
            Ref("overview_page", "precision"),
            Ref("kernel_stats", "kernels.share_frac", rows=wide.names),
        ),
        bits_16_frac=low,
        bits_32_frac=overview.precision.bits_32_frac,
        compute_32_ms=overview.breakdown_ms["device_compute_32"],
        products_32_ms=products if step > 0 and products else None,
        kernels_frac=wide.kernels_frac or None,
        device_type=device,
        kernel=kernel_name(wide.names[0]) if wide.names else None,
    )


def _wide(overview: OverviewPage, kernels: KernelStats | None) -> _Wide:
    """Return the 32-bit work; without kernels products are unknown."""
    wide = overview.breakdown_ms["device_compute_32"] * _known_frac(overview.precision)
    if kernels is None:
        on_tpu = "TPU" in overview.environment.device_type
        # A TPU multiplies float32 in bfloat16 passes by default: only the bytes are saved.
        return _Wide(0.0, 0.0, wide, ()) if on_tpu else _Wide(wide / 2, 0.0, wide / 2, ())
    matrix = kernel_time(kernels, overview, lambda row: is_product(row) and _is_wide(row))
    tf32 = kernel_time(
        kernels,
        overview,
        lambda row: is_product(row) and _is_wide(row) and row.is_kernel_using_tensor_core,
    )
    double = kernel_time(kernels, overview, lambda row: computes_in_64_bits(row.name))
    # Which kernels compute in 16 bits the step's parts know better, where programs say it.
    products = min(matrix.step_ms, wide)
    tf32_ms = min(tf32.step_ms, products)
    return _Wide(
        products - tf32_ms,
        tf32_ms,
        wide - products,
        matrix.names,
        matrix.share_frac,
        is_exact=factors_matrices(kernels),
        is_known=True,
        is_double=double.step_ms > wide / 2,
    )


def _is_wide(row: KernelRow) -> bool:
    return row.is_precision_known and not row.is_16_bit


def _known_frac(precision: Precision) -> float:
    """Return the share of what the step's parts count as 32-bit that is known to be."""
    wide, untold = precision.bits_32_frac or 0.0, precision.unknown_frac or 0.0
    return wide / (wide + untold) if wide + untold else 0.0


def _is_a_choice(wide: _Wide, step_ms: float, device: str) -> bool:
    """Return whether fewer bits are an offer: the hardware is as fast as it is in 32 bits."""
    is_fast = has_tf32(device) and wide.products < PART_FRAC * step_ms
    return wide.is_exact or wide.is_double or (is_fast and wide.is_known)


def tensor_cores_unused(case: Case) -> Iterator[Answer]:
    """Fire when products that tensor cores would serve cost 3 % of the step without them."""
    overview, kernels = case.overview_page, case.kernel_stats
    device = overview.environment.device_type
    if not has_matrix_units(device):
        yield no_matrix_units(device)
        return
    narrow = kernel_time(kernels, overview, lambda row: _missed(row) and row.is_16_bit)
    wide = kernel_time(kernels, overview, lambda row: _missed(row) and is_float32(row))
    found = [("tensor-cores-unused", narrow, False)]
    if has_tf32(device):
        found.append(("tf32-off", wide, factors_matrices(kernels)))
    least = ACT_FRAC * case.step_ms
    costly = [one for one in found if one[1].step_ms >= least]
    for cause, missed, is_exact in costly or found[:1]:
        yield case.match(
            cause,
            cost_ms=missed.step_ms,
            severity="info" if is_exact else None,
            evidence=(Ref("kernel_stats", "kernels.share_frac", rows=missed.names),),
            missed_ms=missed.step_ms,
            kernels_frac=missed.share_frac,
            kernel=kernel_name(missed.names[0]) if missed.names else None,
        )


def _missed(row: KernelRow) -> bool:
    is_matrix = row.kernel_class in ("gemm", "convolution") and is_product(row)
    return is_matrix and not row.is_kernel_using_tensor_core


_CONVOLUTION: Final = re.compile(r"conv(?!er)", re.IGNORECASE)
_TRANSPOSE: Final = re.compile(
    r"nchw|nhwc|transpose|SwapDimension|ncdhw|ndhwc|shuffle", re.IGNORECASE
)


def layout_transposes(case: Case) -> Answer:
    """Fire when layout kernels of a program that convolves cost 3 % of the step or more."""
    overview, kernels = case.overview_page, case.kernel_stats
    convolving = kernel_time(kernels, overview, _convolves)
    if not convolving.occurrences:
        return silent("no_convolution")
    turning = kernel_time(kernels, overview, _rearranges)
    norms = 0.0
    if overview.environment.framework == _TORCH:
        norms = kernel_time(kernels, overview, _normalises).step_ms
    return case.match(
        "layout-transposes",
        cost_ms=turning.step_ms,
        # PyTorch gives channels_last to cuDNN's norms, channels-first to slower ones of its own.
        high_ms=turning.step_ms + MOST_FRAC * norms,
        evidence=(Ref("kernel_stats", "kernels.share_frac", rows=turning.names),),
        layout_ms=turning.step_ms,
        kernels_frac=turning.share_frac,
        convolution_ms=convolving.step_ms,
        norms_ms=norms if norms >= ACT_FRAC * case.step_ms else None,
    )


def _convolves(row: KernelRow) -> bool:
    is_convolution = row.kernel_class == "convolution" or bool(_CONVOLUTION.search(row.op_name))
    return not _rearranges(row) and is_convolution


def _normalises(row: KernelRow) -> bool:
    return row.kernel_class == "normalization" and "native_batch_norm" in row.op_name


def _rearranges(row: KernelRow) -> bool:
    return row.kernel_class == "layout" and bool(_TRANSPOSE.search(row.name))


# ---------------------------------------------------------------------------- large ops

# Ops that wait or talk: their rate says nothing about a kernel.
_WAITING: Final = (
    "async", "copy", "send", "recv", "infeed", "outfeed", "all-", "collective", "reduce-sc",
)  # fmt: skip
_UNBOUND: Final = ("", "Unknown")
# PyTorch's own ops, and what its compiler and XLA make for GPUs: norms, sums and factors of healthy
# models reach a fifth, too, and the bytes of an op in a loop are an estimate.
_NOT_OF_PROGRAM: Final = re.compile(r"(?:aten|torch)(?:::|/)|triton_(?:poi|red|per|tem|for)_")
# The frameworks whose kernels on GPUs are all XLA's, or a library's.
_COMPILED: Final = ("jax", "tensorflow")


def roofline_gap(case: Case) -> Answer:
    """Fire when ops below 30 % of their roofline could save 3 % of the step or more."""
    overview, roofline = case.overview_page, case.roofline_model
    rows = [row for row in roofline.ops.records() if row.self_time_us]
    known = [row for row in rows if _is_judged(row)]
    if not known:
        return unknown("no_peaks")
    # What the ops' time costs the step, where they run on a device that also idles or overlaps.
    whole_us = sum(row.self_time_us for row in rows if not _waits(row))
    if (kernels := case.optional.kernel_stats) is not None:  # with those that copy
        whole_us = computing_us(kernels)
    scale = compute_ms(overview) / whole_us if whole_us else 0.0
    low = [row for row in known if row.roofline_efficiency_frac < THIRD_FRAC]
    expected, least = _gap_ms(low, scale, GOOD_ROOF_FRAC), ACT_FRAC * case.step_ms
    if expected < least:
        is_judged = sum(row.self_time_us for row in known) >= HALF_FRAC * whole_us
        return case.below(expected) if is_judged else unknown("few_peaks")
    low.sort(key=lambda row: -row.self_time_us * (1 - row.roofline_efficiency_frac))
    is_xlas = key_of(overview.environment.framework) in _COMPILED
    is_xlas &= "TPU" not in overview.environment.device_type
    own = [row for row in low if not _NOT_OF_PROGRAM.match(row.operation)]
    is_own = not is_xlas and _gap_ms(own, scale, GOOD_ROOF_FRAC) >= least
    first = low[0]
    op, sign, rest = first.operation.partition("::")
    place = None
    if sign:  # where an op runs PyTorch says; of what XLA compiled the account knows more
        place = place_of_op(case.optional.step_account, f"{op}/{rest.split(' ')[0]}")
    return case.match(
        "roofline-gap" if first.bound_by != "Compute" else "roofline-gap-compute",
        expected,
        severity=None if is_own else "info",
        high_ms=_gap_ms(low, scale, 1.0),
        place=place,
        evidence=(Ref("roofline_model", "ops.self_time_us", rows=tuple(o.operation for o in low)),),
        ops_us=sum(row.self_time_us for row in low),
        ops=len(low),
        operation=kernel_name(first.operation),
        efficiency_frac=first.roofline_efficiency_frac,
        bound_by=first.bound_by,
    )


def _gap_ms(low: list[RooflineRow], scale: float, good: float) -> float:
    return sum(scale * row.self_time_us * (1 - row.roofline_efficiency_frac / good) for row in low)


def _waits(row: RooflineRow) -> bool:
    return bool(row.category.startswith(_WAITING) or row.category == "unattributed")


def _is_judged(row: RooflineRow) -> bool:
    known = not isnan(row.roofline_efficiency_frac) and row.bound_by not in _UNBOUND
    return known and not _waits(row)
