"""Public modules can be imported by the names that the documents give them."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import stepscope

PUBLIC = {
    "client": "stepscope.capture.rpc.client.api",
    "server": "stepscope.capture.rpc.server.api",
    "torch": "stepscope.capture.hooks.torch",
}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_module_is_the_one_that_lives_deeper(name: str) -> None:
    module = import_module(f"stepscope.{name}")
    assert module is import_module(PUBLIC[name]) is getattr(stepscope, name)
    # It can still be reloaded, and pickles of what it defines name its home.
    assert module.__spec__ is not None
    assert module.__spec__.name == module.__name__ == PUBLIC[name]


def test_it_is_found_before_anything_else_was_used() -> None:
    code = "from stepscope.torch import __name__ as name; import sys; "
    code += "print(name, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["stepscope.capture.hooks.torch", "False"]


def test_no_other_name_is_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"stepscope\.nothing"):
        import_module("stepscope.nothing")
