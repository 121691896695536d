"""The typed Python methods of a session, one per tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from stepscope.registry import Option, Tool

_WIDTH = 100  # of a line, as the formatter has it

_HEAD = '''"""One typed method per tool. Generated: python -m generate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
{imports}


class ToolMethods(ABC):
    """The tools as methods."""

    @abstractmethod
    def run(self, tool: str, **options: Any) -> Result:
        """Run a tool by id."""
'''


def methods_source(tools: Sequence[Tool]) -> str:
    """Text of ``session/_tools.py``."""
    literals = any(option.choices for tool in tools for option in tool.option_list())
    homes = sorted({(tool.result.__module__, tool.result.__name__) for tool in tools})
    imports = ["    from typing import Literal", ""] if literals else []
    imports += [f"    from {module} import {name}" for module, name in homes]
    imports.append("    from stepscope.result import Result")
    return _HEAD.format(imports="\n".join(imports)) + "".join(_method(tool) for tool in tools)


def _method(tool: Tool) -> str:
    """One method, laid out as the formatter would."""
    options = tool.option_list()
    name = tool.result.__name__
    if not options:
        return (
            f"\n    def {tool.id}(self) -> {name}:\n"
            f'        """{tool.summary}"""\n'
            f'        return cast("{name}", self.run("{tool.id}"))\n'
        )
    signature = "".join(map(_parameter, options))
    listed = "".join(f"            {o.name}: {o.help}\n" for o in options)
    given = "".join(f"                {o.name}={o.name},\n" for o in options)
    return (
        f"\n    def {tool.id}(\n        self,\n        *,\n{signature}    ) -> {name}:\n"
        f'        """{tool.summary}\n\n        Args:\n{listed}        """\n'
        f'        return cast(\n            "{name}",\n            self.run(\n'
        f'                "{tool.id}",\n{given}            ),\n        )\n'
    )


def _parameter(option: Option) -> str:
    default = _literal(option.default)
    line = f"        {option.name}: {_hint(option)} = {default},\n"
    if len(line) <= _WIDTH + 1:
        return line
    choices = ", ".join(map(_literal, option.choices))
    return f"        {option.name}: Literal[\n            {choices}\n        ] = {default},\n"


def _hint(option: Option) -> str:
    if option.choices:
        return f"Literal[{', '.join(_literal(choice) for choice in option.choices)}]"
    return python_type(option.type)


def python_type(hint: Any) -> str:
    """A simple type as source text."""
    parts = get_args(hint)
    return " | ".join(_name(part) for part in parts) if parts else _name(hint)


def _name(hint: Any) -> str:
    return "None" if hint is type(None) else str(hint.__name__)


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
