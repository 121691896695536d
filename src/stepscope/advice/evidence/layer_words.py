"""The wording about ops that belong together: by one line of the program, or by a layer's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepscope.advice.evidence.replacements import KEEP_NEEDED, instead_of_line

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow

# Title, message and actions.
Said = tuple[str, str, tuple[str, ...]]


def of_line(part: PartRow, where: str, share: str, facts: str) -> Said:
    """What compiled programs have from one line.

    Args:
        part: It.
        where: File, line and caller.
        share: Of the step.
        facts: What is unusual about it.
    """
    message = (
        f"What is compiled from one line of {part.function}{where} takes {share}: {part.made_of}. "
        f"{facts}"
    )
    return (
        f"One line of {part.function} takes {part.step_frac:.0%} of the step",
        message.strip(),
        (instead_of_line(part.made_of), KEEP_NEEDED),
    )


def of_layer(part: PartRow, share: str, facts: str) -> Said:
    """What is named after one layer, loss or metric."""
    message = (
        f"The ops named after {part.name}, with their gradients, if any, take {share}: "
        f"{part.made_of}. Which line of the program runs this was not recorded. {facts}"
    )
    return (
        f"{part.name} takes {part.step_frac:.0%} of the step",
        message.strip(),
        (
            "Look for the layer, loss or metric of that name, and at its settings: widths that "
            "multiply (units per head, filters times channels), a resolution or length that "
            "nothing needs. Halve one of them and time the loop.",
            "If it is not the model's own work: every n-th step, on less data, or otherwise.",
        ),
    )
