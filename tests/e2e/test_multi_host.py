"""A run of several hosts is one session; a host that does not open hides no other."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepscope
from tests.profiles import worked_example

RUN = "plugins/profile/2026_01_01_00_00_00"


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    run = tmp_path / RUN
    run.mkdir(parents=True)
    (run / "a.xplane.pb").write_bytes(worked_example(gpu=True))
    (run / "b.xplane.pb").write_bytes(worked_example(gpu=True, steps=6))
    (run / "c.xplane.pb").write_bytes(b"this was never a profile")
    return tmp_path


def test_the_hosts_that_open_are_shown_and_the_other_is_named(logdir: Path) -> None:
    with stepscope.open(str(logdir)) as session:
        page = session.run("overview_page")
        pod = session.run("pod_viewer").to_dict()
        pipeline = session.run("input_pipeline_analyzer").to_dict()
    assert page.hosts == ("a", "b")
    assert any(one.where == "c" and one.severity == "error" for one in page.diagnostics)
    assert [row["host"] for row in pod["workers"]] == ["a", "b"]
    assert [row["host"] for row in pipeline["host_table"]] == ["a", "b"]
    # Six steps are shared; the first and the last are cut.
    assert pipeline["step_count"] == 4
    assert pipeline["input_frac"] == pytest.approx(230 / 900)


def test_one_host_alone(logdir: Path) -> None:
    with stepscope.open(str(logdir), host="b") as session:
        found = session.run("input_pipeline_analyzer").to_dict()
    assert found["hosts"] == ["b"]
    assert [row["host"] for row in found["host_table"]] == ["b"]
