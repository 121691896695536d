"""The command line: ``stepscope show | ls | advise | serve | demo | version``."""

from stepscope.surfaces.cli.main import main

__all__ = ["main"]
