"""What tools need names functions as text, which no type checker follows: each must be there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from stepscope import needs
from stepscope.analysis import TOOLS

_NAMED = re.compile(r'"([a-z_.]+):([a-z_]+)"')


def test_every_function_that_a_need_names_exists() -> None:
    named = _NAMED.findall(Path(needs.__file__).read_text("utf-8"))
    assert len(named) > 20
    for module, function in named:
        assert callable(getattr(import_module(f"stepscope.tables.{module}"), function))


def test_every_need_is_of_a_tool() -> None:
    assert set(needs.NEEDS) <= {tool.id for tool in TOOLS}
