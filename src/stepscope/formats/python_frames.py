"""Frames of Python as PyTorch's recorders write them: without what paths say of a machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from stepscope.limits import MAX_NAME_CHARS
from stepscope.schema import names

_INSTALLED: Final = (
    re.compile(r"(?:^|.*/)(?:site|dist)-packages/(.*)"),
    re.compile(r"(?:^|.*/)lib/python3[.\d]*/(.*)"),
)
_TORCH: Final = re.compile(r"^torch/|^torch\b")
_GENERATED: Final = re.compile(names.INDUCTOR_FILE)
_PYTHON: Final = re.compile(r"\.py$")
# How PyTorch's C++ names a node of autograd's graph, and an op that is called.
_AUTOGRAD: Final = re.compile(r"torch::autograd::generated::(\w+)::apply\b")
_ATEN: Final = re.compile(r"\bat::_ops::(\w+)::(?:call|redispatch)\b")
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
        path = path[:MAX_NAME_CHARS].replace("\\", "/") if isinstance(path, str) else ""
        file = short_path(path)
        place = f"{file}:{line}" if isinstance(line, int) and line > 0 else file
        is_installed = any(one.match(path) for one in _INSTALLED) or bool(_TORCH.match(file))
        is_installed |= bool(_GENERATED.search(path))
        is_own = bool(_PYTHON.search(path)) and not is_installed
        shown_name = name[:MAX_NAME_CHARS] if isinstance(name, str) else ""
        yield f"{place} {shown_name}".strip(), is_own


class FrameTexts:
    """What ``shown_frames`` gives, each distinct frame worked out once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, str], tuple[str, bool]] = {}

    def of(self, frames: list[Any]) -> Iterator[tuple[str, bool]]:
        """Each frame, innermost first, and whether it is the program's own Python."""
        for one in frames[:_MOST_FRAMES]:
            if not isinstance(one, dict):
                continue
            path, line, name = one.get("filename"), one.get("line"), one.get("name")
            if not (type(path) is type(name) is str and type(line) is int):
                yield from shown_frames([one])
                continue
            known = self._known.get((path, line, name))
            if known is None:
                (known,) = shown_frames([one])
                self._known[path, line, name] = known
            yield known


def place_of(frames: list[Any], texts: FrameTexts) -> str:
    """What a stack is for that has none of the program's own Python; "" where nothing says it.

    A library's innermost Python; else, for gradients are computed on threads without Python, the
    node of autograd; else the op that was called. Allocators' own frames say nothing.

    Args:
        frames: As for ``shown_frames``.
        texts: What they are called.
    """
    kept = [one for one in frames[:_MOST_FRAMES] if isinstance(one, dict)]
    for one, (text, _) in zip(kept, texts.of(kept), strict=True):
        path = one.get("filename")
        if isinstance(path, str) and _PYTHON.search(path[-MAX_NAME_CHARS:]):
            return text
    called = [name[:MAX_NAME_CHARS] for one in kept if isinstance(name := one.get("name"), str)]
    for name in called:
        if found := _AUTOGRAD.search(name):
            return f"{found[1]} (backward)"
    ops = [found[1] for name in called if (found := _ATEN.search(name))]
    return f"aten/{ops[-1]}" if ops else ""


def short_path(path: str) -> str:
    """A path without what it says of the machine: from the package on, else its last two parts."""
    for one in _INSTALLED:
        if found := one.match(path):
            return found[1]
    return "/".join(path.split("/")[-2:])
