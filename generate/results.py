"""What rules read: the results by tool, and what is known of rules without them."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.pod.report import Pod
from stepscope.registry import Tool

_SOURCE = '''\
"""The results that rules read. Generated: python -m generate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
{imports}


class Results:
    """The results that a rule needs, by tool; ``optional`` has those that may be missing."""

    __slots__ = ("_found", "optional")
{needed}

    def __init__(self, found: Mapping[str, Result]) -> None:
        self._found = found
        self.optional = OptionalResults(found)

    if not TYPE_CHECKING:

        def __getattr__(self, tool: str) -> Result:
            return self._found[tool]


class OptionalResults:
    """The results that a rule may read, by tool; None where the recording has none."""

    __slots__ = ("_found",)
{optional}

    def __init__(self, found: Mapping[str, Result]) -> None:
        self._found = found

    if not TYPE_CHECKING:

        def __getattr__(self, tool: str) -> Result | None:
            return self._found.get(tool)
'''


def results_source(tools: Sequence[Tool]) -> str:
    """Text of ``advice/results.py``: an attribute for each tool, and for the pod."""
    results = {tool.id: tool.result for tool in tools} | {Pod.tool: Pod}
    homes = sorted({(one.__module__, one.__name__) for one in results.values()})
    imports = [f"    from {module} import {name}" for module, name in homes]
    imports.append("    from stepscope.result import Result")
    return _SOURCE.format(
        imports="\n".join(imports),
        needed="\n".join(f"    {id_}: {one.__name__}" for id_, one in results.items()),
        optional="\n".join(f"    {id_}: {one.__name__} | None" for id_, one in results.items()),
    )
