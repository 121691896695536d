"""The answer of a check for CI: a Markdown summary and JUnit XML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final
from xml.etree import ElementTree as ET

from stepscope import __version__
from stepscope.comparison.gate import GateReport
from stepscope.quantities import milliseconds, time_change
from stepscope.result import Finding
from stepscope.surfaces.export.tables import markdown_escape, markdown_table
from stepscope.surfaces.format import clean, json_of

_MARKS = {"kept": "✅", "exceeded": "❌", "unknown": "❔", "missing": "❔"}
_BLAMED: Final = 3
_WORDS = {
    "kept": "All limits are kept.",
    "exceeded": "A limit is exceeded.",
    "unknown": "The recordings cannot tell whether a limit is kept.",
    "missing": "A limit is on something that was not recorded.",
}

_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_DOCS: Final = "https://github.com/stepscope/stepscope/blob/main/docs/"
_SARIF_LEVELS: Final = {"high": "warning", "medium": "warning", "low": "note", "info": "note"}
# Where a limit has no line of its own, it is about the program as a whole.
_NOWHERE: Final = "README.md"


def verdict(result: GateReport) -> str:
    """The answer in one sentence."""
    over = [
        name
        for name, status in zip(result.limits["metric"], result.limits["status"], strict=True)
        if status == result.status
    ]
    which = "" if result.status == "kept" else f" ({', '.join(over)})"
    return f"{_WORDS[result.status].rstrip('.')}{which}."


def check_markdown(result: GateReport) -> str:
    """A summary for a pull request: the limits, what changed, and the ops to blame."""
    escape = markdown_escape
    lines = [
        f"### {_MARKS[result.status]} Stepscope: {escape(verdict(result))}",
        "",
        "| | limit on | limit | baseline | measured | change | |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in result.limits.rows():
        change = "–" if row["change_frac"] is None else f"{row['change_frac']:+.1%}"
        cells = [
            row["metric"],
            row["limit"],
            row["baseline"],
            row["measured"],
            change,
            row["message"],
        ]
        lines.append(f"| {_MARKS[row['status']]} | " + " | ".join(map(escape, cells)) + " |")
    if result.headline:
        lines += ["", escape(result.headline)]
    lines += [f"\n> ⚠ {escape(one)}" for one in result.differences]
    if len(result.guilty):
        lines += ["", "#### What grew most", "", markdown_table(result.guilty)]
    return "\n".join(lines) + "\n"


def check_junit(result: GateReport) -> str:
    """JUnit XML: one test case per limit; exceeded ones fail, unknown ones are errors."""
    rows = list(result.limits.rows())
    counts = {one: sum(row["status"] == one for row in rows) for one in _MARKS}
    suite = ET.Element(
        "testsuite",
        name="stepscope",
        tests=str(len(rows)),
        failures=str(counts["exceeded"]),
        errors=str(counts["unknown"] + counts["missing"]),
    )
    # XML has no place for control characters, and names from files may hold any.
    blame = [clean(result.headline)] + [
        clean(f"{milliseconds(row['delta_ms'])} more: {row['name']} ({row['kind']})")
        for row in result.guilty.rows()
    ]
    for row in rows:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=clean(f"stepscope.{result.session}"),
            name=f"{row['metric']} {row['limit']}",
        )
        said = clean(f"{row['measured']} (baseline {row['baseline']}). {row['message']}")
        if row["status"] == "exceeded":
            ET.SubElement(case, "failure", message=said).text = "\n".join(blame)
        elif row["status"] != "kept":
            ET.SubElement(case, "error", message=said)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def github_annotations(result: GateReport) -> Iterator[str]:
    """A line per limit that is not kept, which GitHub Actions shows beside the change."""
    blame = [f"{row['name']} {time_change(row['delta_ms'])}" for row in result.guilty.rows()][
        :_BLAMED
    ]
    for row in result.limits.rows():
        if row["status"] != "kept":
            level = "error" if row["status"] == "exceeded" else "warning"
            said = f"{row['metric']} is {row['measured']}, limit {row['limit']}. {row['message']}"
            # Names from a recording may hold line ends, which end a command, what terminals obey,
            # and per cent signs, which stand for such characters there.
            text = clean("; ".join([said, *blame])).replace("%", "%25")
            yield f"::{level} title=Stepscope::{text}"


def check_sarif(result: GateReport, findings: Sequence[Finding], root: str = "") -> str:
    """A check as SARIF 2.1.0: the limits that are not kept, and the findings that name a line.

    Code hosts show it at the lines of a change.

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
        found.append(_result(one.rule, _SARIF_LEVELS[one.severity], said, file, place.line))
    driver = {
        "name": "Stepscope",
        "version": __version__,
        "rules": [{"id": rule, "helpUri": _DOCS + page} for rule, page in sorted(rules.items())],
    }
    body = {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": found}],
    }
    return json_of(body, indent=2) + "\n"


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
