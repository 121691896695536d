"""Products of whose result few values are taken, by the sizes of gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.tables.core.profile import Host
from stepscope.tables.torch.few_taken import FewTaken, few_taken
from tests.unit.formats.kineto.layout import PID, profile, x

AUTOGRAD = PID + 1
#: A product of 16 × 100 values, of which 16 × 2 are taken.
SCORES, TAKEN = [16, 100], [16, 2]


class Pass:
    """Ops of one step: 10 µs each forward, 20 µs each node, with 5 µs between."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.at = 0.0

    def forward(self, number: int, op: str, *dims: list[int]) -> None:
        self.events.append(
            x("cpu_op", f"aten::{op}", self.at, 10, Sequence_number=number, Input_Dims=[*dims])
        )
        self.at += 15

    def node(self, number: int, name: str, given: list[int], made: list[int], **more: Any) -> None:
        """A node that is given a gradient, with the op of it that makes the largest tensor."""
        said = {"Sequence_number": number, "Fwd_thread_id": 1} | more
        self.events += [
            x("cpu_op", f"{name}Backward0", self.at, 20, PID, AUTOGRAD, Input_Dims=[given], **said),
            x("cpu_op", "aten::fill_", self.at + 1, 5, PID, AUTOGRAD, Input_Dims=[made, []]),
        ]
        self.at += 25

    def add(self, size: list[int]) -> None:
        """The engine adds two gradients of a value that is used twice."""
        said = {"Input_Dims": [size, size, []]}
        self.events.append(x("cpu_op", "aten::add_", self.at - 4, 2, PID, AUTOGRAD, **said))


def scored() -> Pass:
    one = Pass()
    one.forward(3, "mm", [16, 8], [8, 100])
    one.forward(4, "view", SCORES)
    one.forward(5, "gather", SCORES, TAKEN)
    return one


def host(folder: Path, one: Pass) -> Host:
    (found,) = profile(folder, one.events).hosts
    return found


def names_of(one: Host, found: FewTaken) -> tuple[str, str]:
    names = one.space.event_metadata.name
    taker, product = (int(rows[0]) for rows in (found.taker, found.product))
    meta = one.space.events.metadata
    return names[meta[taker]], names[meta[product]]


def test_scores_of_all_of_which_few_are_gathered(tmp_path: Path) -> None:
    one = scored()
    one.node(5, "Gather", TAKEN, SCORES)
    one.node(4, "View", SCORES, SCORES)
    one.node(3, "Mm", SCORES, [8, 100])
    told = host(tmp_path, one)
    found = few_taken(told)
    assert found is not None
    assert (found.taken.tolist(), found.of.tolist()) == ([32], [1600])
    assert names_of(told, found) == ("aten/gather:gather", "aten/mm:mm")
    lengths = (found.end_ps - found.start_ps)[:, 0].tolist()
    assert lengths == [10_000_000, 20_000_000]


def test_what_was_taken_may_be_taken_of_once_more(tmp_path: Path) -> None:
    one = scored()
    one.forward(6, "select", TAKEN)
    one.node(6, "Select", [16], TAKEN)
    one.node(5, "Gather", TAKEN, SCORES)
    one.node(3, "Mm", SCORES, [8, 100])
    told = host(tmp_path, one)
    found = few_taken(told)
    assert found is not None
    assert (found.taken.tolist(), found.of.tolist()) == ([16], [1600])
    assert names_of(told, found) == ("aten/select:select", "aten/mm:mm")


def test_another_branch_may_run_between(tmp_path: Path) -> None:
    one = scored()
    one.node(5, "Gather", TAKEN, SCORES)
    one.node(4, "Softmax", [7, 9], [7, 9])
    one.node(3, "Mm", SCORES, [8, 100])
    assert few_taken(host(tmp_path, one)) is not None


def test_a_gradient_that_is_added_to_is_of_more_than_what_was_taken(tmp_path: Path) -> None:
    """As ``h[:, 0]`` beside a loss over all of ``h``."""
    one = scored()
    one.node(5, "Gather", TAKEN, SCORES)
    one.add(SCORES)
    one.node(3, "Mm", SCORES, [8, 100])
    assert few_taken(host(tmp_path, one)) is None


def test_a_sum_within_a_node_is_its_own(tmp_path: Path) -> None:
    one = scored()
    one.node(5, "Gather", TAKEN, SCORES)
    one.node(4, "Add", SCORES, SCORES)
    one.at -= 20
    one.add(SCORES)
    one.at += 20
    one.node(3, "Mm", SCORES, [8, 100])
    assert few_taken(host(tmp_path, one)) is not None


@pytest.mark.parametrize("between", ["Softmax", "Sum", "NativeLayerNorm"])
def test_what_needs_all_values_of_a_row_is_given_all(tmp_path: Path, between: str) -> None:
    one = scored()
    one.node(5, "Gather", TAKEN, SCORES)
    one.node(4, between, SCORES, SCORES)
    one.node(3, "Mm", SCORES, [8, 100])
    assert few_taken(host(tmp_path, one)) is None


def test_half_of_the_values_is_not_few(tmp_path: Path) -> None:
    one = scored()
    one.node(5, "Gather", [16, 50], SCORES)
    one.node(3, "Mm", SCORES, [8, 100])
    assert few_taken(host(tmp_path, one)) is None


def test_rows_of_a_table_are_no_product(tmp_path: Path) -> None:
    one = scored()
    one.node(5, "Gather", TAKEN, SCORES)
    one.node(4, "Embedding", SCORES, SCORES)
    assert few_taken(host(tmp_path, one)) is None


def test_the_next_backward_pass_is_another_one(tmp_path: Path) -> None:
    one = scored()
    one.node(5, "Gather", TAKEN, SCORES)
    one.node(8, "Mm", SCORES, [8, 100])
    assert few_taken(host(tmp_path, one)) is None


def test_without_shapes_nothing_is_known(tmp_path: Path) -> None:
    one = scored()
    one.node(5, "Gather", TAKEN, SCORES)
    one.node(3, "Mm", SCORES, [8, 100])
    for event in one.events:
        event["args"].pop("Input Dims", None)
    assert few_taken(host(tmp_path, one)) is None


@pytest.mark.parametrize("dims", [[10**30, 16], [1 << 41]])
def test_sizes_that_no_tensor_has_are_unknown(tmp_path: Path, dims: list[int]) -> None:
    one = scored()
    one.node(5, "Gather", TAKEN, SCORES)
    one.node(4, "View", dims, dims)
    one.node(3, "Mm", SCORES, [8, 100])
    assert few_taken(host(tmp_path, one)) is not None


def test_of_very_many_some_stand_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.tables.torch.few_taken._MOST_TAKEN", 10)
    one = Pass()
    for number in range(0, 400, 10):
        one.forward(number + 3, "mm", [16, 8], [8, 100])
        one.forward(number + 5, "gather", SCORES, TAKEN)
        one.node(number + 5, "Gather", TAKEN, SCORES)
        one.node(number + 3, "Mm", SCORES, [8, 100])
    found = few_taken(host(tmp_path, one))
    assert found is not None
    assert (len(found.of), found.each) == (10, 4.0)
    # They are spread over the recording, not its begin.
    assert int(found.start_ps[0].max()) > 600e6
