"""``stepscope version``: what is installed and what it runs on."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path

from stepscope import __version__

_SHOWN = ("numpy", "polars", "typer", "rich", "werkzeug", "waitress", "fsspec")


def version_lines(*, verbose: bool) -> Iterator[str]:
    """The lines of ``stepscope version``."""
    yield f"stepscope {__version__}"
    if not verbose:
        return
    from stepscope.kernels.core import compiled

    yield f"python {platform.python_version()} on {platform.platform()}"
    slow = "pure Python (slow: reinstall with a C compiler present)"
    yield f"decoder {'native' if compiled() else slow}"
    index = Path(__file__).parents[1] / "static" / "index.html"
    yield f"web pages {'built' if index.is_file() else 'not built'}"
    for name in _SHOWN:
        try:
            yield f"{name} {installed(name)}"
        except PackageNotFoundError:
            yield f"{name} not installed"
