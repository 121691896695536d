"""What a loop within the step runs again and again, where no line tells of the loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from stepscope.result import Finding
from stepscope.tables.steps.found import WINDOW

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import HostActivity

# Where ops have less of a loop's time, it runs something else between them.
_OPS_FRAC: Final = 0.7
_ONE_CALL: Final = (
    "Look for the loop that runs these ops. If its turns do not need each other (experts, heads, "
    "samples, chunks), one call over all of them does the same in fewer, larger ops; if a turn "
    "computes what another did, keep it."
)
_OF_LAYERS: Final = (
    "See whether the turns are the model's layers, which it needs, or whole passes of a model: of "
    "several passes one over all of their data does the same, and one that gives what it gave "
    "before can be kept."
)


@dataclass(frozen=True, slots=True)
class Loop:
    """What to say of it.

    Attributes:
        sentence: What it runs, and how much of the step; "" where there is none.
        action: What to look for; "" where there is none.
        is_layers: Whether it may well be a model's layers: then others come first.
    """

    sentence: str
    action: str
    is_layers: bool

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
    sizes = ", on the same sizes" if found.is_same_size else ""
    also = ["their gradients"] if found.is_training else []
    also += ["what lies between them"] if found.ops_frac < _OPS_FRAC else []
    with_ = f"with {' and '.join(also)} " if also else ""
    whole = "the program" if host is not None and host.step_source == WINDOW else "the step"
    return Loop(
        f" {found.times:.0f} times in a row {whole} runs {ops}{sizes} ({found.ops}): "
        f"{with_}{found.step_frac:.0%} of it.",
        _OF_LAYERS if found.is_layers else _ONE_CALL,
        found.is_layers,
    )
