"""The output of an answer: to the terminal, or complete into a file."""

from __future__ import annotations

import sys
from pathlib import Path


def deliver(text: str, output: str | None) -> None:
    """Print a text, or write it to the file that ``--output`` names."""
    if not output:
        print(text, end="")
        return
    from stepscope.store.atomic import write_atomic

    target = Path(output).expanduser()
    write_atomic(target, text.encode())
    tell_written(target)


def tell_written(path: Path | str, details: str = "") -> None:
    """Tell where a file was written; its name may come from a recording."""
    from stepscope.surfaces.format import clean

    print(f"wrote {clean(str(path))}{details}", file=sys.stderr)
