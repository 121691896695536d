"""The words of fields that are one of a few values."""

from __future__ import annotations

from stepscope.analysis import input_pipeline_analyzer, overview_page
from stepscope.surfaces.envelope import field_words


def test_values_are_spelt_plainly_by_field() -> None:
    words = field_words(input_pipeline_analyzer.TOOL.result)
    assert words["verdict"]["not_input_bound"] == "not input bound"
    assert "headline" not in words
    overview = field_words(overview_page.TOOL.result)
    assert overview["bound_by"]["kernel_launch"] == "kernel launch"
