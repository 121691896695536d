"""Which ranges are the program's own."""

from __future__ import annotations

import pytest

from stepscope.tables.account.account import account
from stepscope.tables.core.regions import region_name
from stepscope.tables.parts.grouping import parts
from tests.profiles import event
from tests.unit.tables.account.test_account import host


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[pl][profile][Strategy]SingleDeviceStrategy.training_step", "training_step"),
        ("[pl][profile][Strategy]SingleDeviceStrategy.batch_to_device", ""),
        ("tokenise", "tokenise"),
        ("[pl][profile][LightningModule]Tagger.on_train_batch_end", "Tagger.on_train_batch_end"),
        ("[pl][profile][Callback]Logs.on_train_batch_end", "Logs.on_train_batch_end"),
        ("[pl][profile][Strategy]SingleDeviceStrategy.backward", ""),
        ("Optimizer.step#Adam.step", ""),
        ("ProfilerStep#3", ""),
    ],
)
def test_the_programs_ranges_are_known_by_their_names(text: str, name: str) -> None:
    assert region_name(text) == name


def test_an_op_is_placed_in_the_range_that_the_program_marks_around_it() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        .R------...R------..
          "        ..L----.....L----...
          "        ...O--.......O--....
        """,
        R=event("weigh"),
        L=event("aten/linalg_svdvals:linalg_svdvals"),
        O=event("aten/_linalg_svd:_linalg_svd"),
    )
    found = account(one)
    assert found is not None
    around = {owner.within for part in parts(found) for owner in part.owners}
    assert "weigh › aten/linalg_svdvals" in around
