"""The memory viewer on a compiled program whose answers can be worked out by hand."""

from __future__ import annotations

import pytest

from stepscope.analysis import memory_viewer
from stepscope.errors import UsageError
from tests.unit.analysis.compiled import SIZE, check_contract, on_gpu


def test_it_answers_on_every_device_and_says_what_is_missing() -> None:
    check_contract(memory_viewer.TOOL)


def test_memory_held_all_along_is_in_the_peak() -> None:
    found = memory_viewer.memory_viewer(on_gpu())
    assert (found.peak_bytes, found.parameter_bytes, found.output_bytes) == (3 * SIZE, SIZE, SIZE)
    assert found.timeline["used_bytes"].tolist() == [2 * SIZE, 3 * SIZE, 2 * SIZE]
    at_peak = [row for row in found.buffers.rows() if row["at_peak"]]
    assert sum(row["size_bytes"] for row in at_peak) == found.peak_bytes
    assert sum(found.peak_groups["size_bytes"]) == found.peak_bytes


def test_wrong_programs_and_spaces_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="no program 'g'"):
        memory_viewer.memory_viewer(on_gpu(), memory_viewer.Options(program="g"))
    with pytest.raises(UsageError, match="no memory space 5"):
        memory_viewer.memory_viewer(on_gpu(), memory_viewer.Options(memory_space=5))


def test_spaces_and_sources_are_in_words() -> None:
    found = memory_viewer.memory_viewer(on_gpu())
    assert (found.memory_spaces, found.memory_space_names) == ((0,), ("device memory",))
    assert found.source_text == "as the compiler recorded it"
    assert [memory_viewer.space_name(space) for space in (1, 5, 9)] == [
        "on-chip memory",
        "host memory",
        "memory space 9",
    ]
