"""``python build_backend/installed_tests.py [-k …]``: the tests of what is installed.

They are copied away from the sources first, so that nothing but the installed package can answer.
What needs the sources, a browser or a whole environment stays with the checkout: the tests of
``tests/architecture``, ``tests/e2e`` and ``tests/live``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import assert_installed

ROOT: Final = Path(__file__).resolve().parents[1]
#: What the tests read or import; the package itself is not among it.
BESIDE: Final = (
    "tests", "bench", "fuzz", "docs", "examples", "lint", "build_backend", "pyproject.toml",
    "setup.py", "dev.py", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md",
)  # fmt: skip
WHICH: Final = ("tests/unit", "tests/property", "tests/oracle")


def copied(folder: Path) -> Path:
    """The tests in a folder without ``src``."""
    for name in BESIDE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / name)
    return folder


def main(arguments: list[str]) -> int:
    """Check the installation, then run its tests; pytest's exit code."""
    import stepscope

    if Path(stepscope.__file__).is_relative_to(ROOT):
        print(f"{stepscope.__file__} is the checkout, not an installed package", file=sys.stderr)
        return 1
    if wrong := assert_installed.main():
        return wrong
    with tempfile.TemporaryDirectory(prefix="stepscope-tests-") as folder:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *WHICH,
            *arguments,
        ]
        return subprocess.run(command, cwd=copied(Path(folder)), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
