"""Imported by Python before the program, in processes started by ``stepscope record``."""

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

_HERE = str(Path(__file__).resolve().parent)


def _begin() -> None:
    """Record this process; a program runs the same when that fails."""
    try:
        from stepscope.capture.launch.child_process import begin

        begin()
    except Exception as error:
        print(f"stepscope: this process is not recorded: {error}", file=sys.stderr)


def _run_the_hidden_one() -> None:
    """This file hides a sitecustomize of the user's: it runs as it would have."""
    others = [path for path in sys.path if str(Path(path or ".").resolve()) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("STEPSCOPE_RECORD"):
    _begin()
_run_the_hidden_one()
