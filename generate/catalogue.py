"""The catalogue of causes as JSON, which takes a tenth of the time to read that TOML takes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def catalogue_source(folder: Path) -> str:
    """Return the tables of all files of the catalogue by the file's name, a line per table."""
    files = []
    for path in sorted(folder.glob("*.toml")):
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        lines = [f"{json.dumps(name)}: {_plain(table)}" for name, table in tables.items()]
        files.append(f"{json.dumps(path.stem)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(files) + "\n}\n"


def _plain(table: object) -> str:
    return json.dumps(table, ensure_ascii=False)
