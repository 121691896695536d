"""Which functions are recorded: by prefixes of their files or modules."""

from __future__ import annotations

from pathlib import Path
from types import CodeType
from typing import Final

from stepscope.capture.runtime.frame_names import FrameNames

_OURS: Final = str(Path(__file__).resolve().parents[1])


class CodeFilter:
    """Decides about code objects.

    Args:
        include: Prefixes of files (``/work/``, ``torch/nn``) or modules (``torch.nn``); empty:
            everything.
        exclude: Prefixes of what to leave out of that.
    """

    def __init__(self, include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> None:
        self._include, self._exclude = include, exclude
        self._names = FrameNames()
        self._files: dict[str, bool] = {}

    def admits(self, code: CodeType) -> bool:
        """Whether calls of this code are recorded; those of the recorder itself never are."""
        known = self._files.get(code.co_filename)
        if known is None:
            known = self._files[code.co_filename] = self._decide(code.co_filename)
        return known

    def _decide(self, filename: str) -> bool:
        if filename.startswith(_OURS):
            return False
        short = self._names.file(filename)
        module = short.removesuffix(".py").replace("/", ".").replace("\\", ".")
        spellings = (filename, short, module.removesuffix(".__init__"))

        def matches(prefixes: tuple[str, ...]) -> bool:
            return any(text.startswith(prefixes) for text in spellings)

        if self._include and not matches(self._include):
            return False
        return not (self._exclude and matches(self._exclude))
