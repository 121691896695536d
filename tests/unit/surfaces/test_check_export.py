"""The summary and the XML of a check, with names that try to be something else."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from stepscope.comparison import Side, side_of
from stepscope.comparison.gate import METRICS, GateReport, check
from stepscope.comparison.limit import Limit
from stepscope.formats.xspace import decode
from stepscope.surfaces import pytest_plugin
from stepscope.surfaces.cli.main import run as run_command
from stepscope.surfaces.export.check import (
    check_junit,
    check_markdown,
    github_annotations,
    verdict,
)
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import HOSTILE_NAMES
from tests.profiles.loops import Kernel, Loop, record

# Tags, an entity, what a terminal obeys.
NAMES = (*HOSTILE_NAMES[:3], HOSTILE_NAMES[5])


def run(name: str, *us: float) -> Side:
    """Kernels of hostile names with these times."""
    kernels = [
        Kernel(f"k{place}", time, f"{name}:MatMul")
        for place, (name, time) in enumerate(zip(NAMES, us, strict=True))
    ]
    data = record(Loop(kernels=kernels, steps=10, wait="cuStreamSynchronize"))["host-0"]
    return side_of(name, Profile(name, (Host("h", decode(data)),)))


def checked(**limits: str) -> GateReport:
    parsed = {name: Limit.parse(text, METRICS[name], name) for name, text in limits.items()}
    return check(run("new|<b>\x1b[31m", 900, 900, 100, 900), parsed, run("old", 100, 100, 100, 100))


def test_junit_has_a_case_per_limit() -> None:
    found = checked(step_time="+5%", input="50%", peak_memory="1GiB")
    suite = ET.fromstring(check_junit(found).partition("?>")[2])
    assert suite.attrib == {"name": "stepscope", "tests": "3", "failures": "1", "errors": "1"}
    failed, kept, unknown = suite.findall("testcase")
    assert failed.attrib["name"] == "step_time +5%"
    failure = failed.find("failure")
    assert failure is not None
    assert "800.0 µs more: " in (failure.text or "")
    assert kept.find("failure") is None
    assert kept.find("error") is None
    assert unknown.find("error") is not None


def test_no_control_character_reaches_the_xml() -> None:
    text = check_junit(checked(step_time="+5%"))
    assert not [c for c in text if ord(c) < 32 and c != "\n"]


def test_the_summary_names_the_worst_op_and_escapes_it() -> None:
    found = checked(step_time="+5%")
    text = check_markdown(found)
    assert text.startswith("### ❌ Stepscope: A limit is exceeded (step\\_time).")
    assert "<script>" not in text
    assert "<img" not in text
    assert "#### What grew most" in text


def test_the_verdict_says_which_limit() -> None:
    assert verdict(checked(step_time="10s")) == "All limits are kept."
    assert verdict(checked(step_time="+5%", input="90%")) == "A limit is exceeded (step_time)."
    missing = "A limit is on something that was not recorded (peak_memory)."
    assert verdict(checked(peak_memory="1GiB")) == missing


def test_github_is_told_of_every_limit_that_is_not_kept() -> None:
    found = list(github_annotations(checked(step_time="+5%", input="90%", peak_memory="1GiB")))
    assert [line.split(" ")[0] for line in found] == ["::error", "::warning"]
    assert "step_time is " in found[0]
    assert "limit +5%25." in found[0]
    assert not any(ord(c) < 32 for line in found for c in line)


def test_a_failing_test_obeys_no_name() -> None:
    sections: list[str] = []
    item: Any = SimpleNamespace(
        user_properties=[], add_report_section=lambda *said: sections.append(said[-1])
    )
    with pytest.raises(pytest.fail.Exception) as failed:
        pytest_plugin._report(item, checked(step_time="+5%"), passes_unknown=True)
    for text in (*sections, str(failed.value)):
        assert "What grew most" in text
        assert not [c for c in text if ord(c) < 32 and c != "\n"]


def test_check_ends_with_five_if_the_recordings_cannot_tell(tmp_path: Path) -> None:
    paths = []
    for name, us in (("old", 100.0), ("new", 150.0)):
        loop = Loop(kernels=(Kernel("sgemm", us, "dense/MatMul:MatMul"),), steps=3, wait="cuSync")
        (tmp_path / name).mkdir()
        (tmp_path / name / "host.xplane.pb").write_bytes(record(loop)["host-0"])
        paths.append(str(tmp_path / name))
    old, new = paths
    assert run_command(["check", new, "--baseline", old]) == 5
    assert run_command(["check", new, "--baseline", old, "--on-unknown", "pass"]) == 0
    # What was not recorded stays 3.
    assert run_command(["check", new, "--max-peak-memory", "1GiB", "--on-unknown", "pass"]) == 3


def test_a_test_that_cannot_tell_passes_only_if_asked_to() -> None:
    item: Any = SimpleNamespace(user_properties=[], add_report_section=lambda *said: None)
    few = checked(step_time="+5%")
    unknown = replace(few, status="unknown")
    pytest_plugin._report(item, unknown, passes_unknown=True)
    with pytest.raises(pytest.fail.Exception, match="unknown"):
        pytest_plugin._report(item, unknown, passes_unknown=False)
