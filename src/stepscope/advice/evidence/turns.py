"""What a loop within the step runs again and again, where no line tells of the loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from stepscope.advice.evidence.savings import ERRORS, error_frac
from stepscope.advice.parts.changes import LOOPED
from stepscope.advice.parts.part_facts import brief_path
from stepscope.result import Finding, Place, Ref
from stepscope.tables.steps.found import WINDOW

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import HostActivity
    from stepscope.analysis.step_account import PartRow, StepAccount
    from stepscope.tables.parts.turns import Turns

# Kinds of parts of the step that a loop around ops takes its time with.
_KINDS: Final = ("op", "layer", "framework", "launch", "unrecorded")
#: What is reported with a loop that is a finding of its own: what lies between its ops has no name.
BETWEEN_OPS: Final = ("unrecorded",)
# Where ops have less of a loop's time, it runs something else between them; and mostly that.
_OPS_FRAC, _MOSTLY_FRAC = 0.7, 0.5
_ONE_CALL: Final = (
    "Look for the loop that runs these ops. If its turns do not need each other (experts, heads, "
    "samples, chunks), one call over all of them does the same in fewer, larger ops; if each needs "
    "the one before, look whether fewer are enough; if a turn computes what another did, keep it."
)
_OF_LAYERS: Final = (
    "See whether the turns are the model's layers, which it needs, or experts, heads, chunks or "
    "whole passes of a model: of these one call over all of them does the same, and one that gives "
    "what it gave before can be kept."
)


@dataclass(frozen=True, slots=True)
class Loop:
    """What to say of it.

    Attributes:
        sentence: What it runs, and how much of the step; "" where there is none.
        action: What to look for; "" where there is none.
        is_layers: Whether it may well be a model's layers: then others come first.
        step_frac: Share of the step that it takes; 0 where there is none.
        function: Of the program, that runs it; "" unknown.
        kinds: Of the parts that it is reported with.
    """

    sentence: str
    action: str
    is_layers: bool
    step_frac: float = 0.0
    function: str = ""
    kinds: tuple[str, ...] = _KINDS

    def tells(self, part: PartRow) -> bool:
        """Whether it says more of a part of the step than its place does."""
        if part.kind not in self.kinds or not self.sentence:
            return False
        if not part.file:
            return True
        is_new = self.function not in ("", part.function) and self.function not in part.made_of
        return is_new and not self.is_layers and self.step_frac >= part.step_frac

    def behind(self, found: Finding) -> Finding:
        """A finding about ops that no line of the program is known of, with the loop behind it."""
        if found.place is not None:
            return found
        return replace(
            found,
            message=found.message + self.sentence,
            actions=self.before(found.actions),
        )

    def before(self, actions: tuple[str, ...]) -> tuple[str, ...]:
        """The actions of a finding with its own."""
        if not self.action:
            return actions
        return (*actions, self.action) if self.is_layers else (self.action, *actions)


NO_LOOP: Final = Loop("", "", is_layers=False)


def loop_within(host: HostActivity | None) -> Loop:
    """The loop in words."""
    found = None if host is None else host.turns
    if found is None:
        return NO_LOOP
    ops = "the same op" if found.op_count == 1 else f"the same {found.op_count} ops"
    sizes = " on the same sizes" if found.is_same_size else ""
    also = ["their gradients"] if found.is_training else []
    also += ["what lies between them"] if found.ops_frac < _OPS_FRAC else []
    with_ = f"with {' and '.join(also)} " if also else ""
    like = ", as a model's layers may be" if found.is_layers else ""
    whole = "the program" if host is not None and host.step_source == WINDOW else "the step"
    return Loop(
        f" {found.times:.0f} times in a row{_many(found)} {whole} runs {ops}{sizes}{like} "
        f"({found.ops}){_where(found)}: {with_}they take {found.step_frac:.0%} of {whole}.",
        _OF_LAYERS if found.is_layers else _ONE_CALL,
        found.is_layers,
        found.step_frac,
        found.function,
    )


def _many(found: Turns) -> str:
    return f", at {found.places} places," if found.places > 1 else ""


def _where(found: Turns) -> str:
    """In which function; else between which ops, and in which range of the program's."""
    if found.function:
        return f", mostly in {found.function} at {brief_path(found.file)}:{found.line}"
    if found.is_layers:
        return ""
    edges = (("after", found.after), ("before", found.before))
    around = " and ".join(f"{word} {op}" for word, op in edges if op)
    within = f"within {found.within}" if found.within else ""
    told = ", ".join(one for one in (within, around) if one)
    return f", {told}" if told else ""


def _between(found: Turns) -> str:
    """What has most of a loop's time where ops have not."""
    if found.ops_frac >= _MOSTLY_FRAC:
        return ""
    return (
        f" Ops take {found.ops_frac:.0%} of the loop: for the rest nothing was recorded but what "
        "calls them: Python, or a library between the framework's calls."
    )


# So many turns are a loop of the program's, whatever they are; fewer may be what a model consists
# of, such as its heads.
_SURE_TURNS: Final = 8
_WORTH, _WORTH_OF_FEW = 0.6, 0.2
_EXPECTED: Final = 0.8
# Turns of more ops than this that have nearly all of the step are what it is for: days of a
# series, letters of a text. What is amiss is in a turn then.
_WHOLE_FRAC, _WHOLE_OPS = 0.8, 24


def of_loop(host: HostActivity | None, account: StepAccount, rule: str) -> Finding | None:
    """A finding about a loop whose line nobody recorded; None where it may be a model's layers.

    A step of many kinds of ops has a part of each of them, none of which is what one looks for.
    """
    found = None if host is None else host.turns
    if found is None or found.is_layers or account.has_python or account.is_window:
        return None
    if account.has_device:  # what it costs there is launches, whose rules tell of the loop
        return None
    if found.step_frac >= _WHOLE_FRAC and found.op_count > _WHOLE_OPS:
        return None
    step = account.step_time_ms
    # Between ops that are called one by one is Python: what no op has goes with them in proportion.
    nothing = sum(part.step_frac for part in account.parts.records() if part.kind == "unrecorded")
    time, high = found.step_frac * step, min(found.step_frac / max(1 - nothing, found.step_frac), 1)
    high = step * high / (high + (1 - high) * max(1 - ERRORS * error_frac(account), 0.0))
    loop = loop_within(host)
    worth = _WORTH if found.times >= _SURE_TURNS else _WORTH_OF_FEW
    what = "one op" if found.op_count == 1 else f"the same {found.op_count} ops"
    return Finding(
        rule=rule,
        severity="info",
        saving_ms=_EXPECTED * time,
        saving_low_ms=LOOPED.least * time,
        saving_high_ms=max(high, time),
        assumption=LOOPED.assumption,
        confidence=0.6 if account.step_count > 1 else 0.5,
        title=f"A loop of {what} takes {found.step_frac:.0%} of the step",
        message=f"{loop.sentence.strip()}{_between(found)} Which line of the program runs this "
        "was not recorded.",
        place=Place(op=found.ops.split(", ")[0].rpartition(" ")[2]),
        measured={
            "part_ms": time,
            "step_frac": found.step_frac,
            "worth_ms": worth * time,
            "step_time_ms": step,
            "kind": "turns",
            "step_after_ms": step - _EXPECTED * time,
        },
        evidence=(Ref("step_account", "parts"), Ref("trace_viewer", found.after or found.before)),
        actions=(loop.action, "Record with stepscope record to see its function and line."),
        wrong_when="the turns are what the program is for, and each of them needs the one before.",
    )
