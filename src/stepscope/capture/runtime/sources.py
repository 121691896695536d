"""Hashes of the program's own source files, so that a viewer can tell whether they have changed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from stepscope.capture.runtime.frame_names import NAMED_FILES, FrameNames
from stepscope.schema import names
from stepscope.schema.sources import source_hash

_MOST_FILES: Final = 256
_MOST_BYTES: Final = 8 << 20


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
        files = {*loaded, *NAMED_FILES}
    labels, lines, left = FrameNames(), [], _MOST_BYTES
    for file in sorted(set(files)):
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
