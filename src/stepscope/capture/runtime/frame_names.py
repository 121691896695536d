"""What a Python function or line is called in a recording, and hashes of the files they are in.

Functions are ``$file.py:12 name``, as TensorFlow's tracer of Python calls writes them, so that
every viewer takes them for Python; lines are ``$file.py:15``. Files are named as one imports
them: relative to the folder of ``sys.path`` they are in.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import CodeType
from typing import Final

from stepscope.capture.runtime.thread_frames import OURS
from stepscope.schema import names
from stepscope.schema.sources import source_hash

# Files that were named in this process.
_named_files: Final[set[str]] = set()
_MOST_FILES: Final = 256
_MOST_BYTES: Final = 8 << 20


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
            _named_files.add(filename)
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


def source_facts(begin_ns: int, files: Iterable[str] | None = None) -> dict[str, str]:
    """Size and hash of each of the program's own source files, as one fact; empty if there is none.

    Installed files are left out, and those that changed after the recording began: nobody knows
    which text ran.

    Args:
        begin_ns: When the recording began, in Unix time.
        files: The files; by default those of all loaded modules, and those named in the recording.
    """
    if files is None:
        loaded = [getattr(one, "__file__", None) or "" for one in list(sys.modules.values())]
        # What the recording names comes before what is merely loaded.
        files = [*sorted(_named_files), *sorted(set(loaded) - _named_files)]
    labels, lines, left = FrameNames(), [], _MOST_BYTES
    for file in dict.fromkeys(files):
        if not file.endswith(".py") or "\n" in file or not labels.is_own_file(file):
            continue
        path = Path(file).absolute()
        name = labels.file(str(path))
        if Path(name).is_absolute():
            continue  # of no folder that modules are imported from: nobody is shown such a path
        try:
            about = path.stat()
            if about.st_mtime_ns > begin_ns or about.st_size > left:
                continue
            with path.open("rb") as source:
                content = source.read(about.st_size + 1)
        except OSError:
            continue
        left -= len(content)
        lines.append(f"{len(content)} {source_hash(content)} {name}")
        if len(lines) == _MOST_FILES:
            break
    return {names.SOURCE_HASHES: "\n".join(lines)} if lines else {}
