"""What rules read: the results by tool, and what is known of rules without them."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.pod.report import Pod
from stepscope.registry import RuleFacts, Tool

# Results that the steps, and the ranges of all savings, are taken from.
_OF_STEPS = {"overview_page", "step_account", Pod.tool}

_SOURCE = '''\
"""The results that rules read. Generated: python -m generate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
{imports}


class Results:
    """The results that a rule needs, by tool; ``optional`` has those that may be missing."""

    __slots__ = ("found", "optional")
{needed}

    def __init__(self, found: Mapping[str, Result]) -> None:
        self.found = found
        self.optional = OptionalResults(found)

    if not TYPE_CHECKING:

        def __getattr__(self, tool: str) -> Result:
            return self.found[tool]


class OptionalResults:
    """The results that a rule may read, by tool; None where the recording has none."""

    __slots__ = ("found",)
{optional}

    def __init__(self, found: Mapping[str, Result]) -> None:
        self.found = found

    if not TYPE_CHECKING:

        def __getattr__(self, tool: str) -> Result | None:
            return self.found.get(tool)
'''


def results_source(tools: Sequence[Tool], rules: Sequence[RuleFacts]) -> str:
    """Text of ``advice/results.py``: an attribute for each tool that a rule reads."""
    results = {tool.id: tool.result for tool in tools} | {Pod.tool: Pod}
    needed = {id_ for rule in rules for id_ in rule.needs}
    optional = {id_ for rule in rules for id_ in rule.optional} | _OF_STEPS
    read = [results[id_] for id_ in needed | optional]
    homes = sorted({(one.__module__, one.__name__) for one in read})
    imports = [f"    from {module} import {name}" for module, name in homes]
    imports.append("    from stepscope.result import Result")
    return _SOURCE.format(
        imports="\n".join(imports),
        needed="\n".join(f"    {id_}: {results[id_].__name__}" for id_ in sorted(needed)),
        optional="\n".join(
            f"    {id_}: {results[id_].__name__} | None" for id_ in sorted(optional)
        ),
    )
