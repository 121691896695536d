"""``stepscope version``: versions of Stepscope, Python and packages."""

from __future__ import annotations

from collections.abc import Iterator

import click

from stepscope import __version__

_SHOWN = ("numpy", "polars", "click", "werkzeug", "waitress", "fsspec")


@click.command()
@click.option("--verbose", "-v", is_flag=True, help="Also print Python, packages and system.")
def version(verbose: bool) -> None:
    """Print the version."""
    print(f"stepscope {__version__}")
    if verbose:
        for line in _surroundings():
            print(line)


def _surroundings() -> Iterator[str]:
    """Python, the kernels, the web pages, and the packages Stepscope needs."""
    import platform
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed
    from pathlib import Path

    from stepscope.kernels.core import compiled

    yield f"python {platform.python_version()} on {platform.platform()}"
    slow = "pure Python (slow: reinstall with a C compiler present)"
    yield f"decoder {'native' if compiled() else slow}"
    index = Path(__file__).parents[2] / "static" / "index.html"
    yield f"web pages {'built' if index.is_file() else 'not built'}"
    for name in _SHOWN:
        try:
            yield f"{name} {installed(name)}"
        except PackageNotFoundError:
            yield f"{name} not installed"


COMMAND = version
