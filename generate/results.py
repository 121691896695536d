"""What rules read: the results as typed properties, and what is known of rules without them."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.pod.report import Pod
from stepscope.registry import Tool

# What fits in a line with "        return cast(" and ")" around it.
_WIDEST = 79

_RESULTS_HEAD = '''\
"""The results that rules read. Generated: python -m generate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
{imports}


class Results:
    """The results that a rule needs, by tool; ``optional`` has those that may be missing."""

    __slots__ = ("_found", "optional")

    def __init__(self, found: Mapping[str, Result]) -> None:
        self._found = found
        self.optional = OptionalResults(found)
'''

_OPTIONAL_HEAD = '''

class OptionalResults:
    """The results that a rule may read, by tool; None where the recording has none."""

    __slots__ = ("_found",)

    def __init__(self, found: Mapping[str, Result]) -> None:
        self._found = found
'''


def results_source(tools: Sequence[Tool]) -> str:
    """Text of ``advice/results.py``: a property for each tool, and for the pod."""
    results = {tool.id: tool.result for tool in tools} | {Pod.tool: Pod}
    homes = sorted({(one.__module__, one.__name__) for one in results.values()})
    imports = [f"    from {module} import {name}" for module, name in homes]
    imports.append("    from stepscope.result import Result")
    head = _RESULTS_HEAD.format(imports="\n".join(imports))
    needed = "".join(
        _property(id_, one.__name__, f'self._found["{id_}"]') for id_, one in results.items()
    )
    optional = "".join(
        _property(id_, f"{one.__name__} | None", f'self._found.get("{id_}")')
        for id_, one in results.items()
    )
    return head + needed + _OPTIONAL_HEAD + optional


def _property(name: str, kind: str, value: str) -> str:
    """One property, laid out as the formatter would."""
    given = f'"{kind}", {value}'
    if len(given) > _WIDEST:
        given = f"\n            {given}\n        "
    return (
        f"\n    @property\n    def {name}(self) -> {kind}:\n"
        f'        """Of {name}."""\n'
        f"        return cast({given})\n"
    )
