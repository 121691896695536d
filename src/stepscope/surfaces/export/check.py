"""The answer of a check for CI: a Markdown summary and JUnit XML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree as ET

from stepscope.comparison.gate import GateReport
from stepscope.quantities import milliseconds, time_change
from stepscope.surfaces.export.tables import markdown_escape, markdown_table
from stepscope.surfaces.format import clean

_MARKS = {"kept": "✅", "exceeded": "❌", "unknown": "❔"}
_BLAMED: Final = 3
_WORDS = {
    "kept": "All limits are kept.",
    "exceeded": "A limit is exceeded.",
    "unknown": "A limit cannot be judged.",
}


def verdict(result: GateReport) -> str:
    """The answer in one sentence."""
    over = [name for name, status in zip(result.limits["metric"], result.limits["status"],
                                         strict=True) if status == result.status]  # fmt: skip
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
        cells = [row["metric"], row["limit"], row["baseline"], row["measured"], change,
                 row["message"]]  # fmt: skip
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
        errors=str(counts["unknown"]),
    )
    # XML has no place for control characters, and names from files may hold any.
    blame = [clean(result.headline)] + [
        clean(f"{milliseconds(row['delta_ms'])} more: {row['name']} ({row['kind']})")
        for row in result.guilty.rows()
    ]
    for row in rows:
        case = ET.SubElement(
            suite, "testcase", classname=clean(f"stepscope.{result.session}"),
            name=f"{row['metric']} {row['limit']}",
        )  # fmt: skip
        said = clean(f"{row['measured']} (baseline {row['baseline']}). {row['message']}")
        if row["status"] == "exceeded":
            ET.SubElement(case, "failure", message=said).text = "\n".join(blame)
        elif row["status"] == "unknown":
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
