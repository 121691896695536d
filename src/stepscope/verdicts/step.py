"""The verdict on a step in one sentence."""

from __future__ import annotations

from collections.abc import Mapping

from stepscope.quantities import share_words, time_words, written_out
from stepscope.records import dataclass
from stepscope.tables.core.thresholds import LITTLE_FRAC, PART_FRAC
from stepscope.tables.steps.bottleneck import INPUT_SOME_FRAC, LIMITS, BoundBy


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """The limit of the steps, with the facts that the sentence about it needs.

    Attributes:
        bound_by: The limit.
        share_frac: Its share of the step.
        steps: How many steps count.
        step_ms: Their mean time.
        breakdown_ms: Mean time of each part.
        has_device: Whether a device ran anything.
        is_window: Whether there are no steps, and the recording as a whole counts as one.
        has_host: Whether what a thread of the host did was recorded.
        is_memory_alone: Whether allocations were recorded, and nothing that takes time.
        has_ops: Whether an op was dispatched or ran, or anything else ran on a device.
        python: The Python function with most time of its own, and its share; "" where more than
            Python calls was recorded.
    """

    bound_by: BoundBy
    share_frac: float
    steps: int
    step_ms: float
    breakdown_ms: Mapping[str, float]
    has_device: bool
    is_window: bool = False
    has_host: bool = True
    is_memory_alone: bool = False
    has_ops: bool = True
    python: str = ""

    @property
    def is_copies(self) -> bool:
        """Whether "input" means copies to the devices rather than waiting for data."""
        parts = self.breakdown_ms
        return self.bound_by == "input" and parts["host_to_device"] > parts["input"]

    @property
    def limit(self) -> str:
        """The limit in a word or two, as parts of a step are called."""
        if self.bound_by == "unknown" and self.python:
            return "Python"
        if self.bound_by == "host":
            return _HOST_LIMITS[self.host_part]
        return "Copy to device" if self.is_copies else _LIMITS[self.bound_by]

    @property
    def host_part(self) -> str:
        """Which of the parts that leave the devices idle is the largest."""
        return max(LIMITS["host"], key=lambda part: self.breakdown_ms.get(part, 0.0))


_LIMITS: dict[BoundBy, str] = {
    "input": "Input wait",
    "output": "Output",
    "kernel_launch": "Kernel launch",
    "device": "Device",
    "collectives": "Collectives",
    "compilation": "Compilation",
    "balanced": "No single part",
    "unknown": "Unknown",
}
_HOST_LIMITS = {
    "host_compute": "Host",
    "host_wait": "Waiting on the host",
    "other": "Nothing recorded",
}
_WORDS: dict[str, str] = {
    "output": "Copying results back to the host takes",
    "kernel_launch": "Launching kernels takes",
    "device": "Device compute takes",
    "collectives": "Communication between devices takes",
    "compilation": "Compilation takes",
}


def headline(verdict: StepVerdict) -> str:
    """The verdict in one sentence."""
    return written_out(_headline(verdict))


def _headline(verdict: StepVerdict) -> str:
    if verdict.is_memory_alone:
        return "Only memory was recorded: memory_profile says who holds it at its peak."
    if verdict.steps == 0:
        return (
            "No step was found, so it is unknown where a step goes; "
            "the op tables and the timeline are still valid."
        )
    step, breakdown = verdict.step_ms, verdict.breakdown_ms
    bound_by, share = verdict.bound_by, verdict.share_frac
    if not step > 0:
        return "All detected steps have zero duration, so there is no time to account for."
    each = (
        f"of the {time_words(step * verdict.steps)} recorded"
        if verdict.is_window
        else f"of each {time_words(step)} step{_without(verdict)}"
    )
    if verdict.is_copies:
        return (
            f"Bound by copies to the devices: {share_words(share)} {each} goes to moving "
            "data there." + _second(verdict)
        )
    if bound_by == "input":
        return (
            f"Input-bound: {share_words(share)} {each} goes to waiting for input data "
            "(the input pipeline)." + _larger(verdict)
        )
    if bound_by == "unknown" and verdict.python:
        return f"Only Python calls were recorded: {verdict.python} {each}."
    if bound_by == "unknown":
        lost = f"{share_words(share)} {each}"
        return f"The profile does not say where the time goes: {lost} is unaccounted for."
    if bound_by == "balanced":
        (first, most), (second, next_most) = _limits(verdict)[:2]
        return (
            f"No single limit: {_part_of(verdict, first)} takes {share_words(most)} {each}, "
            f"{_part_of(verdict, second)} {share_words(next_most)}."
        )
    if bound_by == "host" and not verdict.has_ops:
        return f"No device and no op was recorded. {_host_cause(verdict, each)}"
    if bound_by == "host" and not verdict.has_device:
        compute = breakdown["host_compute"] / step
        rest = (breakdown["host_wait"] + breakdown["other"]) / step
        if rest > compute:
            return (
                f"No op ran in {share_words(rest)} {each}: Python, waiting, or work no recorder "
                f"saw. Ops and the framework take {share_words(compute)}."
            )
        return (
            f"Bound by the CPU: ops and the framework take {share_words(compute)} {each}."
            + _second(verdict)
        )
    if bound_by == "host" and not verdict.has_host:
        return (
            f"The device runs nothing for {share_words(share)} {each}; the host was not "
            "recorded, so the reason is unknown."
        ) + _second(verdict)
    if bound_by == "host":
        return _host_cause(verdict, each)
    copies = breakdown["device_to_device"]
    if (
        bound_by == "device"
        and copies > breakdown["device_compute_16"] + breakdown["device_compute_32"]
    ):
        return f"Copies on and between devices take {share_words(copies / step)} {each}."
    return f"{_WORDS[bound_by]} {share_words(share)} {each}." + _second(verdict)


def _without(verdict: StepVerdict) -> str:
    """The base of the shares, where the steps' own mean holds work of the recorder."""
    recorder_ms = verdict.breakdown_ms.get("recorder", 0.0)
    return " without the recorder" * (recorder_ms >= LITTLE_FRAC * verdict.step_ms)


_PARTS: dict[str, str] = {
    "input": "input",
    "output": "copying results back",
    "kernel_launch": "launching kernels",
    "host": "time without work on a device",
    "device": "device compute",
    "collectives": "communication between devices",
    "compilation": "compilation",
}


_HOST_WITHOUT_DEVICE = {
    "host_compute": "host compute",
    "host_wait": "waiting on the host",
    "other": "time in which nothing recorded runs",
}


def _part_of(verdict: StepVerdict, limit: str) -> str:
    """Return a limit in words; without a device the host's share is called by its largest part."""
    if limit == "host" and not verdict.has_device:
        return _HOST_WITHOUT_DEVICE[verdict.host_part]
    return _PARTS[limit]


_ON_HOST = {
    "host_compute": "{what} {share} {each}.",
    "host_wait": "The host waits in {share} {each}, while nothing recorded runs.",
    "other": "Nothing recorded runs in {share} {each}: Python, or a wait.",
}
_MORE_ON_HOST = {
    "host_compute": "{what} {share}.",
    "host_wait": "Waiting: {share}.",
    "other": "Nothing recorded: {share}.",
}


def _host_cause(verdict: StepVerdict, each: str) -> str:
    """Return the reason why devices idle, by the largest of the host's parts meanwhile."""
    shares = {
        part: verdict.breakdown_ms.get(part, 0.0) / verdict.step_ms for part in LIMITS["host"]
    }
    first = verdict.host_part
    what = "Host compute takes" if verdict.has_ops else "Ranges and calls take"
    words = [_ON_HOST[first].format(what=what, share=share_words(shares[first]), each=each)] + [
        words.format(what=what, share=share_words(shares[part]))
        for part, words in _MORE_ON_HOST.items()
        if part != first and shares[part] >= INPUT_SOME_FRAC
    ]
    return " ".join(words) + _second(verdict)


def _limits(verdict: StepVerdict) -> list[tuple[str, float]]:
    """Every limit with its share of the step, the largest first."""
    parts, step = verdict.breakdown_ms, verdict.step_ms
    shares = [
        (limit, sum(parts.get(part, 0.0) for part in members) / step)
        for limit, members in LIMITS.items()
    ]
    return sorted(shares, key=lambda one: -one[1])


def _larger(verdict: StepVerdict) -> str:
    """The part that has more of the step than what it is bound by, "" where none has."""
    first, share = _limits(verdict)[0]
    if first == verdict.bound_by or share <= verdict.share_frac:
        return ""
    return f" The largest part is {_part_of(verdict, first)}, {share_words(share)}."


# What a step can wait for besides what limits it, with the parts that are it.
_SECOND: tuple[tuple[BoundBy, str, tuple[str, ...]], ...] = (
    ("input", "Input costs", ("input", "host_to_device")),
    ("kernel_launch", "Kernel launches cost", ("kernel_launch",)),
    ("output", "Copying results back costs", ("output",)),
    ("collectives", "Communication costs", ("collectives",)),
    ("compilation", "Compilation costs", ("compilation",)),
    ("host", "Host compute costs", ("host_compute",)),
)


def _second(verdict: StepVerdict) -> str:
    """The largest part that the step waits for besides its limit, where it is worth a word."""
    shares = [
        (sum(verdict.breakdown_ms.get(part, 0.0) for part in parts) / verdict.step_ms, words)
        for bound_by, words, parts in _SECOND
        if bound_by != verdict.bound_by
    ]
    share, words = max(shares)
    nothing = verdict.breakdown_ms.get("other", 0.0) / verdict.step_ms
    if verdict.bound_by != "host" and nothing > max(share, PART_FRAC):
        return f" In {share_words(nothing)} of it nothing that was recorded ran."
    return f" {words} {share_words(share)} as well." if share >= INPUT_SOME_FRAC else ""
