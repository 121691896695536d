"""Fields of results and parts of a step have the same words on every surface."""

from __future__ import annotations

import pytest

from stepscope.analysis import TOOLS
from stepscope.comparison import Comparison
from stepscope.formats.xspace import decode
from stepscope.pod.report import Pod
from stepscope.result import Result
from stepscope.surfaces.envelope import field_labels, tool_info
from stepscope.surfaces.fields import field_names
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.steps.attribution import PARTS
from tests.profiles import worked_example


def test_the_parts_of_a_step_are_called_as_their_columns() -> None:
    info = tool_info(TOOLS.find("overview_page"), None)
    labels = {column["name"]: column["label"] for column in info["tables"]["step_table"]}
    assert {part: info["labels"][part] for part in PARTS} == {
        part: labels[f"{part}_ms"] for part in PARTS
    }


@pytest.mark.parametrize("gpu", [False, True])
def test_every_part_of_the_input_pipeline_has_a_name(gpu: bool) -> None:
    profile = Profile("s", (Host("h", decode(worked_example(gpu=gpu))),))
    tool = TOOLS.find("input_pipeline_analyzer")
    parts = tool.run(profile, tool.options()).device_side.mean_ms  # type: ignore[attr-defined]  # of this tool
    assert set(parts) <= set(field_labels(tool.result))


def test_one_part_has_one_name_on_all_pages() -> None:
    """The pages of one step, of all workers and of a pod show the same quantity."""
    pages = [field_labels(result) for result in (*(tool.result for tool in TOOLS), Pod)]
    for part in PARTS:
        called = {labels[part] for labels in pages if part in labels}
        assert len(called) == 1, (part, called)


@pytest.mark.parametrize("result", [*(tool.result for tool in TOOLS), Comparison, Pod])
def test_every_field_has_a_label(result: type[Result]) -> None:
    labels = field_labels(result)
    assert all(labels[name] for name in field_names(result))
