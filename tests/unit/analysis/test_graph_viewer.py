"""The graph viewer on a compiled program whose answers can be worked out by hand."""

from __future__ import annotations

import pytest

from stepscope.analysis import graph_viewer
from stepscope.errors import UsageError
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import space
from tests.profiles.hlo import metadata_plane
from tests.unit.analysis.compiled import check_contract, on_gpu


def test_it_answers_on_every_device_and_says_what_is_missing() -> None:
    check_contract(graph_viewer.TOOL)


def test_the_graph_opens_at_the_slowest_op() -> None:
    found = graph_viewer.graph_viewer(on_gpu())
    assert (found.centre, found.operand_names, found.consumer_names) == ("add.1", ("dot.1",), ())
    assert len(found.nodes) == 3
    assert {(row["source"], row["target"]) for row in found.edges.rows()} == {(1, 2), (2, 3)}
    assert found.instructions["name"][0] == "add.1"


def test_a_whole_computation_and_a_cut_one() -> None:
    whole = graph_viewer.graph_viewer(on_gpu(), graph_viewer.Options(node="main"))
    assert (whole.centre, len(whole.nodes), whole.is_cut) == ("", 3, False)
    cut = graph_viewer.graph_viewer(on_gpu(), graph_viewer.Options(node="main", max_nodes=2))
    assert (len(cut.nodes), cut.is_cut) == (2, True)
    assert [one.slug for one in cut.diagnostics] == ["graph-cut"]


def test_an_unknown_node_is_a_usage_error_that_names_similar_ones() -> None:
    with pytest.raises(UsageError, match="no instruction or computation 'dot'") as raised:
        graph_viewer.graph_viewer(on_gpu(), graph_viewer.Options(node="dot"))
    assert "dot.1" in raised.value.hint


def test_a_program_that_cannot_be_read_is_not_offered() -> None:
    """Damaged, or taken out by redaction: the entry is there, and the graph is not."""
    for proto in (b"", b"\xff" * 20):
        space_ = decode(space(metadata_plane(("jit_step", 7, proto))))
        missing = graph_viewer.TOOL.available(Profile("s", (Host("h", space_),)))
        assert missing is not None
