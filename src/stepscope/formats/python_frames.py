"""Frames of Python as PyTorch's recorders write them: without what paths say of a machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

_INSTALLED: Final = (
    re.compile(r"(?:^|.*/)(?:site|dist)-packages/(.*)"),
    re.compile(r"(?:^|.*/)lib/python3[.\d]*/(.*)"),
)
_TORCH: Final = re.compile(r"^torch/|^torch\b")
_PYTHON: Final = re.compile(r"\.py$")
_MOST_FRAMES: Final = 256


def shown_frames(frames: list[Any]) -> Iterator[tuple[str, bool]]:
    """Each frame, innermost first, and whether it is the program's own Python.

    Args:
        frames: Dicts with ``filename``, ``line`` and ``name``; what is none is left out.
    """
    for one in frames[:_MOST_FRAMES]:
        if not isinstance(one, dict):
            continue
        path, line, name = one.get("filename"), one.get("line"), one.get("name")
        path = path if isinstance(path, str) else ""
        path = path.replace("\\", "/")
        file = short_path(path)
        place = f"{file}:{line}" if isinstance(line, int) and line > 0 else file
        is_installed = any(one.match(path) for one in _INSTALLED) or bool(_TORCH.match(file))
        is_own = bool(_PYTHON.search(path)) and not is_installed
        yield f"{place} {name if isinstance(name, str) else ''}".strip(), is_own


def short_path(path: str) -> str:
    """A path without what it says of the machine: from the package on, else its last two parts."""
    for one in _INSTALLED:
        if found := one.match(path):
            return found[1]
    return "/".join(path.split("/")[-2:])
