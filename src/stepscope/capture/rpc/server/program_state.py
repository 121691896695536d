"""The state of this program, for a client that is about to record it."""

from __future__ import annotations

import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from stepscope.capture.file.logdir import host_name, rank
from stepscope.capture.rpc.server.session_protocol import Door

# Module to look for → names of the packages it may have come in. Never imported from here.
_FRAMEWORKS = {
    "tensorflow": ("tensorflow", "tensorflow-cpu", "tf-nightly", "tensorflow-rocm"),
    "jax": ("jax",),
    "torch": ("torch",),
    "keras": ("keras",),
}


def program_state(door: Door) -> dict[str, Any]:
    """The answer of ``stepscope.Capture/State``.

    ``time_ns`` is this machine's wall clock as the answer is made; ``rank`` is null where no
    launcher gave one; ``owner`` is who records now, "" for nobody.
    """
    return {
        "server": "stepscope",
        "version": _own_version(),
        "host": host_name(),
        "pid": os.getpid(),
        "rank": rank(),
        "python": platform.python_version(),
        "frameworks": loaded_frameworks(),
        "owner": door.owner(),
        "time_ns": time.time_ns(),
    }


def loaded_frameworks() -> dict[str, str]:
    """Frameworks that this process has imported, with their versions ("" when unknown)."""
    found = {}
    for module, packages in _FRAMEWORKS.items():
        if module in sys.modules:
            found[module] = next((text for text in map(_installed, packages) if text), "")
    return found


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _own_version() -> str:
    from stepscope import __version__

    return __version__
