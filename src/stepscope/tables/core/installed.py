"""Whose a file is, by its path: installed, of the standard library, within a framework."""

from __future__ import annotations

import re
from typing import Final

#: The path within the folder of installed packages.
INSTALLED: Final = re.compile(r"[/\\](?:site|dist)-packages[/\\](.*)$")
#: The path within the standard library, or the name of a frozen module.
STANDARD: Final = re.compile(r"[/\\]lib(?:64)?[/\\]python3[^/\\]*[/\\](.*)$|^<frozen ([\w.]+)")
#: Of a framework that is used from its sources, or from a folder of one's own (pip's --target).
FRAMEWORK_FOLDER: Final = re.compile(
    r"[/\\]((?:tensorflow|keras|jax|jaxlib|flax|optax|torch)[/\\](?:python|src|_src|core|nn"
    r"|linen|nnx|training|contrib|losses|projections|schedules|transforms|tree|tree_utils)[/\\])"
)


#: Packages of frameworks, as alternatives of a pattern.
FRAMEWORK_PACKAGES: Final = "tensorflow|keras|tf_keras|jax|jaxlib|torch"
_FRAMEWORKS: Final = re.compile(rf"(?:{FRAMEWORK_PACKAGES})[/\\]")


def is_of_framework(file: str) -> bool:
    """Whether a path is of an installed framework."""
    found = INSTALLED.search(file)
    return found is not None and _FRAMEWORKS.match(found.group(1)) is not None


def is_installed(file: str) -> bool:
    """Whether a path is of an installed library, of the standard one, or within a framework."""
    patterns = (INSTALLED, STANDARD, FRAMEWORK_FOLDER)
    return any(one.search(file) is not None for one in patterns)
