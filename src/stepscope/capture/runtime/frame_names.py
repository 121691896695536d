"""What a Python function or line is called in a recording.

Functions are ``$file.py:12 name``, as TensorFlow's tracer of Python calls writes them, so that
every viewer takes them for Python; lines are ``$file.py:15``. Files are named as one imports
them: relative to the folder of ``sys.path`` they are in.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from types import CodeType
from typing import Final

from stepscope.capture.runtime.thread_frames import OURS
from stepscope.schema import names

#: Files that were named in this process.
NAMED_FILES: Final[set[str]] = set()


class FrameNames:
    """Names of code objects; what ``sys.path`` is is asked once."""

    def __init__(self) -> None:
        roots = {str(Path(entry or ".").absolute()).rstrip("/\\") for entry in sys.path}
        # ``stepscope record`` puts a folder of ours there, whose file would seem the program's.
        roots = {root for root in roots if not root.startswith(OURS)}
        # Longest first: site-packages before the folder of the standard library.
        self._roots = sorted((root for root in roots if root), key=len, reverse=True)
        paths = sysconfig.get_paths()
        self._libraries = tuple(
            paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib") if key in paths
        )
        self._files: dict[str, str] = {}
        self._functions: dict[int, str] = {}
        self._own: dict[str, bool] = {}

    def file(self, filename: str) -> str:
        """A file's short name, such as ``torch/nn/modules/linear.py``."""
        known = self._files.get(filename)
        if known is None:
            NAMED_FILES.add(filename)
            known = filename
            for root in self._roots:
                if filename.startswith(root) and filename[len(root) : len(root) + 1] in ("/", "\\"):
                    known = filename[len(root) + 1 :]
                    break
            self._files[filename] = known
        return known

    def function(self, code: CodeType) -> str:
        """``$file.py:12 Class.method``; the line is the function's first."""
        known = self._functions.get(id(code))
        if known is None:
            qualified = getattr(code, "co_qualname", code.co_name)
            known = f"{self._at(code, code.co_firstlineno)} {qualified}"
            self._functions[id(code)] = known
        return known

    def line(self, code: CodeType, line: int) -> str:
        """``$file.py:15``."""
        return self._at(code, line)

    def source(self, code: CodeType) -> str:
        """Where the function is, in full: ``/folder/file.py:12``."""
        return f"{code.co_filename}:{code.co_firstlineno}"

    def is_own(self, code: CodeType) -> bool:
        """Whether it is the program's own code: not installed, not Stepscope's."""
        return self.is_own_file(code.co_filename)

    def is_own_file(self, filename: str) -> bool:
        """The same of a file."""
        known = self._own.get(filename)
        if known is None:
            known = not filename.startswith((*self._libraries, OURS, "<frozen"))
            known = known and "site-packages" not in filename and "dist-packages" not in filename
            self._own[filename] = known
        return known

    def _at(self, code: CodeType, line: int) -> str:
        return f"{names.PYTHON_CALL_MARK}{self.file(code.co_filename)}:{line}"
