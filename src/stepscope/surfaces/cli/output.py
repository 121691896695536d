"""The output of an answer: to the terminal, or complete into a file."""

from __future__ import annotations

import sys
from pathlib import Path


def deliver(text: str, output: str | None) -> None:
    """Print a text, or write it to the file that ``--output`` names."""
    if not output:
        print(text, end="")
        return
    from stepscope.store import write_atomic

    target = Path(output).expanduser()
    write_atomic(target, text.encode())
    print(f"wrote {target}", file=sys.stderr)
