"""Where things are in the repository, for tests about the repository itself."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "stepscope"
STATIC = PACKAGE / "surfaces" / "static"

_NOT_SOURCES = shutil.ignore_patterns(
    "__pycache__", "*.egg-info", "*.so", "*.pyd", "*.c", "node_modules", ".stepscope-lock*"
)


def modules() -> list[Path]:
    """Every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def copy_to(folder: Path, *names: str) -> Path:
    """A copy of parts of the repository, without anything built beside the sources."""
    for name in names:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=_NOT_SOURCES)
        elif source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    return folder
