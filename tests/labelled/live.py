"""Records the scripted programs of TensorFlow and JAX, each framework in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from tests.labelled import Labelled, jax_programs, tf_programs

ROOT = Path(__file__).parents[2]
_FRAMEWORKS = {
    "tensorflow": ("tests.labelled.tf_programs", tf_programs.EXPECTED),
    "jax": ("tests.labelled.jax_programs", jax_programs.EXPECTED),
}
_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}


def again(folder: Path, name: str) -> None:
    """Have ``record`` record this program once more."""
    (folder / f"{name}.xplane.pb").unlink()


def record(folder: Path) -> tuple[Labelled, ...]:
    """The profiles of every installed framework; recorded now.

    Args:
        folder: Where to; what lies there is used again.
    """
    found: list[Labelled] = []
    for framework, (module, expected) in _FRAMEWORKS.items():
        if find_spec(framework) is None:
            continue
        missing = [name for name in expected if not (folder / f"{name}.xplane.pb").exists()]
        if missing:
            ran = subprocess.run(
                [sys.executable, "-m", module, str(folder), *missing],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT)} | _QUIET,
                timeout=400,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
            if ran.returncode:
                raise RuntimeError(f"{module} ended with {ran.returncode}: {ran.stderr[-2000:]}")
        found += [
            Labelled(name, rule, partial(_read, folder / f"{name}.xplane.pb"))
            for name, rule in expected.items()
        ]
    return tuple(found)


def _read(path: Path) -> dict[str, bytes]:
    return {"host": path.read_bytes()}
