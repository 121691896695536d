"""Chooses the kernels: machine code where it was built, else the same source as plain Python.

The environment variable ``STEPSCOPE_CORE`` decides for tests: ``python`` runs the source even
where machine code is beside it, ``native`` refuses to run without machine code.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Final


def _load(name: str) -> ModuleType:
    choice = os.environ.get("STEPSCOPE_CORE", "")
    if choice not in ("", "python", "native"):
        raise ImportError(f"STEPSCOPE_CORE is {choice!r}; it can be 'python' or 'native'")
    if choice != "python":
        module = import_module(f"stepscope.kernels.{name}")
        if choice == "native" and not module.is_compiled():
            raise ImportError(f"STEPSCOPE_CORE=native, but {name} was not compiled at install")
        return module
    return plain(name)


def plain(name: str) -> ModuleType:
    """A kernel's source as plain Python, whatever was compiled of it."""
    full_name = f"stepscope.kernels._source.{name}"
    source = Path(__file__).with_name(f"{name}.py")
    spec = spec_from_loader(full_name, SourceFileLoader(full_name, str(source)))
    if spec is None or spec.loader is None:
        raise ImportError(f"{source} is missing")
    module = module_from_spec(spec)
    sys.modules[full_name] = module
    spec.loader.exec_module(module)
    return module


read = _load("read_kernel")
write = _load("write_kernel")
nest = _load("nest_kernel")
pyramid = _load("pyramid_kernel")
key = _load("key_kernel")
json = _load("json_kernel")
json_values = _load("json_values_kernel")
wait = _load("wait_kernel")
page = _load("page_kernel")
_LATE: Final = {"message": "message_kernel"}


def __getattr__(name: str) -> ModuleType:
    """A kernel that few recordings need, loaded when one does."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = _load(_LATE[name])
    return found


def compiled() -> bool:
    """Whether the kernels run as machine code."""
    kernels = (read, write, nest, pyramid, key, json, json_values, wait, page)
    late = (__getattr__(name) for name in _LATE)
    return all(kernel.is_compiled() for kernel in (*kernels, *late))
