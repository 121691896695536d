"""A check as SARIF 2.1.0, which code hosts show at the lines of a change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final

from stepscope import __version__
from stepscope.comparison.gate import GateReport
from stepscope.result import Finding
from stepscope.surfaces.format import clean

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_DOCS: Final = "https://github.com/stepscope/stepscope/blob/main/docs/"
_LEVELS: Final = {"high": "warning", "medium": "warning", "low": "note", "info": "note"}
# Where a limit has no line of its own, it is about the program as a whole.
_NOWHERE: Final = "README.md"


def check_sarif(result: GateReport, findings: Sequence[Finding], root: str = "") -> str:
    """The limits that are not kept, and the findings that name a line.

    Args:
        result: The answer of the gate.
        findings: Advice on the run that was judged.
        root: Folder of the repository where the program ran; files are named from there.
    """
    found: list[dict[str, Any]] = []
    rules: dict[str, str] = {}
    for row in result.limits.rows():
        if row["status"] == "kept":
            continue
        rule = f"limit/{row['metric']}"
        rules[rule] = "compare.md#limits-for-ci"
        said = f"{row['metric']} is {row['measured']}, limit {row['limit']}. {row['message']}"
        level = "error" if row["status"] == "exceeded" else "warning"
        found.append(_result(rule, level, said, _NOWHERE, 1))
    for one in findings:
        place = one.place
        if place is None or not place.file or place.line < 1:
            continue
        rules[one.rule] = f"advice.md#{one.rule}"
        said = " ".join([one.message, *one.actions[:1]])
        file = relative(place.file, root)
        found.append(_result(one.rule, _LEVELS[one.severity], said, file, place.line))
    driver = {
        "name": "Stepscope",
        "version": __version__,
        "rules": [{"id": rule, "helpUri": _DOCS + page} for rule, page in sorted(rules.items())],
    }
    body = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": found}],
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def relative(file: str, root: str) -> str:
    """A recorded file as a path within the repository, as far as that can be told."""
    path = PureWindowsPath(file) if "\\" in file else PurePosixPath(file)
    base = PureWindowsPath(root) if "\\" in root else PurePosixPath(root)
    if root and path.is_relative_to(base):
        path = path.relative_to(base)
    if path.is_absolute():  # recorded on another machine: code hosts take relative paths alone
        path = path.relative_to(path.anchor)
    return clean(path.as_posix())


def _result(rule: str, level: str, said: str, file: str, line: int) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": file}, "region": {"startLine": line}}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": clean(said)},
        "locations": [{"physicalLocation": place}],
    }
