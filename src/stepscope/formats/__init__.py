"""File formats: how each is recognised, and how its bytes become a ``Space``.

One file or folder per format. Nothing to the right of ``columns`` learns where a recording came
from, except through a diagnostic that says what its format cannot hold.

XSpace is the format all others become: its files are read whole, not in pieces, and it is not
among ``FORMATS``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from stepscope.formats.format import Format


class Formats(Mapping[str, Format]):
    """Formats by id, in order. A file of this folder is imported when its format is asked for.

    Args:
        modules: The file of each id; its ``FORMATS`` has the format.
    """

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules
        self._imported: dict[str, Format] = {}

    def __getitem__(self, id_: str) -> Format:
        if id_ not in self._imported:
            module = import_module(f"{__name__}.{self._modules[id_]}")
            self._imported |= {one.id: one for one in module.FORMATS}
        return self._imported[id_]

    def __contains__(self, id_: object) -> bool:
        return id_ in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


#: Every format that is read in pieces, by id; first come, first asked.
FORMATS: Final = Formats(
    {
        "nsight": "nsight",
        "nsight-tables": "nsight",
        "rocpd": "rocprof",
        "rocprof-json": "rocprof",
        "rocprof-trace": "rocprof",
        "rocprof-database": "rocprof",
        "rocprof-csv": "rocprof",
        "torch-memory": "torch_memory",
        "step-log": "step_log",
        "nccl-flight": "nccl",
        "nccl-inspector": "nccl",
        "speedscope": "stacks",
        "gecko": "stacks",
        "tachyon": "stacks",
        "pprof": "stacks",
        "perf-script": "stacks",
        "collapsed": "stacks",
        "perfetto": "perfetto",
        "kineto": "kineto",
    }
)

__all__ = ["FORMATS", "Format"]
