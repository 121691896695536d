"""Products whose rows grow from pass to pass: those of a model that runs on a whole text again."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.tables.core.profile import Host
from stepscope.tables.torch.growing_products import growing_products, has_products
from tests.unit.formats.kineto.layout import profile, x


def recorded(
    folder: Path,
    passes: list[int],
    *,
    layers: int = 2,
    shapes: bool = True,
    learns: bool = False,
) -> Host:
    """Each pass runs an addmm of [rows, 64] x [64, 256] in each layer, and mm of [1, rows] each."""
    events, at = [], 0.0
    for rows in passes:
        for _ in range(layers):
            dims = [[256], [rows, 64], [64, 256], [], []]
            said = {"Input_Dims": dims} if shapes else {}
            events.append(x("cpu_op", "aten::addmm", at, 8.0, **said))
            # Attention over kept keys grows by the other extent: that has to be computed.
            said = {"Input_Dims": [[1, rows], [rows, 64]]} if shapes else {}
            events.append(x("cpu_op", "aten::mm", at + 9, 1.0, **said))
            at += 12.0
        if learns:
            events.append(x("cpu_op", "autograd::engine::evaluate_function: Addmm", at, 5.0))
            at += 6.0
    (host,) = profile(folder, events).hosts
    return host


def test_a_text_that_is_run_whole_for_each_token_is_found(tmp_path: Path) -> None:
    """720 + 724 + 728 rows, where 720 + 4 + 4 would do, three times over."""
    found = growing_products(recorded(tmp_path, [720, 724, 728] * 3))
    assert found is not None
    assert (found.op, found.first_rows, found.last_rows, found.by_rows) == (
        "aten/addmm",
        720,
        728,
        4,
    )
    assert found.passes == pytest.approx(3.0)
    assert found.needless_frac == pytest.approx(1 - 728 / 2172)


def test_one_long_text_needs_its_first_pass_whole(tmp_path: Path) -> None:
    found = growing_products(recorded(tmp_path, list(range(10, 20))))
    assert found is not None
    assert found.passes == pytest.approx(10.0)
    assert found.needless_frac == pytest.approx(1 - (10 + 9) / sum(range(10, 20)))


@pytest.mark.parametrize(
    "passes",
    [
        [64] * 9,  # with a cache, or training
        [128, 64] * 6,  # two kinds of input
        [10, 17, 19, 40, 44, 71, 80],  # sorted by length
        [31, 12, 77, 40, 9, 55, 23, 60],  # texts as they come
        [10, 11, 10, 11, 10, 11, 10],
        [5, 6],
    ],
    ids=["same", "two sizes", "sorted", "any", "turns", "too few"],
)
def test_other_rows_say_nothing(tmp_path: Path, passes: list[int]) -> None:
    host = recorded(tmp_path, passes)
    assert has_products(host)
    assert growing_products(host) is None


def test_sorted_batches_that_a_model_learns_from_are_computed_once(tmp_path: Path) -> None:
    """Lengths that grow by one, as in a data set sorted by length: each batch is another."""
    found = growing_products(recorded(tmp_path, list(range(10, 20)), learns=True))
    assert found is None or found.needless_frac == 0.0


def test_without_shapes_nothing_is_known(tmp_path: Path) -> None:
    host = recorded(tmp_path, [10, 11, 12, 13, 14], shapes=False)
    assert not has_products(host)
    assert growing_products(host) is None


@given(
    first=st.integers(1, 500),
    by=st.integers(1, 8),
    passes=st.integers(3, 9),
    texts=st.integers(2, 4),
    layers=st.integers(1, 3),
)
def test_the_needless_share_is_what_a_loop_over_the_rows_counts(
    tmp_path_factory: pytest.TempPathFactory,
    first: int,
    by: int,
    passes: int,
    texts: int,
    layers: int,
) -> None:
    rows = [first + by * nth for nth in range(passes)] * texts
    host = recorded(tmp_path_factory.mktemp("rows"), rows, layers=layers)
    needed = first + sum(
        min(by, after) if after > before else after for before, after in pairwise(rows)
    )
    found = growing_products(host)
    assert found is not None
    assert found.needless_frac == pytest.approx(1 - needed / sum(rows))
