"""The command line: one file per command in ``commands``, laid out by ``pages``."""

from stepscope.surfaces.cli.main import main

__all__ = ["main"]
