"""The mean step that savings are measured against, or what was recorded in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from stepscope.advice.results import Results
from stepscope.records import dataclass, replace
from stepscope.registry import POSSIBLE
from stepscope.result import Finding, Result

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount

_INPUT = "input"


@dataclass(frozen=True, slots=True)
class StepTime:
    """The mean step.

    Attributes:
        step_ms: Its length; None where there are no steps.
        whole_ms: The same, or the length of what was recorded in their place; None unknown.
        kinds_ms: Its parts by kind; None where the account does not bound what rules say.
        is_one: Whether only one was recorded, which need not be like the others.
        is_window: Whether there is none but the recording as a whole, or one that is a guess.
        is_recording: Whether there is none but the recording as a whole.
        known_ms: What of the whole anything was recorded in; None unknown.
        recorder_factor: Undisturbed by recorded step; 1 if that is not known, or hardly differs.
    """

    step_ms: float | None
    whole_ms: float | None
    kinds_ms: Mapping[str, float] | None
    is_one: bool
    is_window: bool
    is_recording: bool
    known_ms: float | None = None
    recorder_factor: float = 1.0

    def undisturbed(self, finding: Finding) -> Finding:
        """The finding with savings on the step as it is while nothing records.

        Shares of the recorded step are taken for those of the undisturbed one.
        """

        def scaled(saving_ms: float | None) -> float | None:
            return None if saving_ms is None else saving_ms * self.recorder_factor

        return replace(
            finding,
            saving_ms=scaled(finding.saving_ms),
            saving_low_ms=scaled(finding.saving_low_ms),
            saving_high_ms=scaled(finding.saving_high_ms),
        )


def step_time(results: Mapping[str, Result]) -> StepTime:
    """The step as the overview and the account have it."""
    overview = Results(results).optional.overview_page
    mean = float("nan") if overview is None else overview.steps.time_ms.mean
    account = Results(results).optional.step_account
    kinds: dict[str, float] | None = None
    # Beside a device several threads launch and wait: the tables of devices tell it better.
    if account is not None and account.step_count and not account.has_device:
        kinds = {}
        for part in account.part_list():
            kinds[part.kind] = kinds.get(part.kind, 0.0) + part.time_ms
            if part.kind != _INPUT:  # what makes the batch on the loop's own thread
                kinds[_INPUT] = kinds.get(_INPUT, 0.0) + part.time_ms * (
                    part.number("input_frac") or 0.0
                )
    is_one = account is not None and account.step_count == 1
    is_guess = is_one and overview is not None and overview.steps.confidence < POSSIBLE
    is_recording = account is not None and account.step_count > 0 and account.is_window
    is_recording |= overview is not None and overview.steps.source == "window"
    pod = Results(results).optional.pod
    if overview is None and pod is not None:
        mean = pod.step_ms  # of more recordings than any tool opens
    step = mean if mean > 0 else None
    recorded = account.step_time_ms if account is not None and account.step_time_ms > 0 else None
    return StepTime(
        step,
        step or recorded,
        kinds,
        is_one=is_one,
        is_window=is_guess or (account is not None and account.is_window),
        is_recording=is_recording,
        known_ms=None if recorded is None else recorded - _unrecorded_ms(account),
        recorder_factor=1.0 if overview is None else overview.steps.recorder_factor,
    )


def _unrecorded_ms(account: StepAccount | None) -> float:
    parts = [] if account is None else list(account.part_list())
    return sum(part.time_ms for part in parts if part.kind == "unrecorded")
