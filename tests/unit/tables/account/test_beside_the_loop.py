"""What the account makes of other threads, and of recordings with one thread alone."""

from __future__ import annotations

import pytest

from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from tests.profiles import event
from tests.unit.tables.account.test_account import host


@pytest.mark.parametrize(
    ("sort", "sorting_ms"), [(".OOOOOOO..", 0.7), (".OO.......", 0.0)], ids=["as long", "short"]
)
def test_of_ops_that_run_beside_each_other_one_that_is_unusual_has_the_time(
    sort: str, sorting_ms: float
) -> None:
    """A loss and a sort of like length, on two threads: a person can do without the sort.

    Where the sort is short beside the loss, it costs nothing.
    """
    one = host(
        f"""
        /host:CPU
          python      {2 * ("S" + 9 * "-")}
          "           {2 * ("F" + 9 * "-")}
          tf_pool     {2 * ".LLLLLLLL."}
          tf_compute  {2 * sort}
        """,
        F=event("FunctionRun"),
        L=event("loss/SparseSoftmaxCrossEntropyWithLogits:SparseSoftmaxCrossEntropyWithLogits"),
        O=event("sort/TopKV2:TopKV2"),
    )
    found = account(one)
    assert found is not None
    times = {owner.name: owner.total_ps / 1e9 for owner in owners(found)}
    assert times.get("sort/TopKV2", 0.0) == pytest.approx(2 * sorting_ms)
