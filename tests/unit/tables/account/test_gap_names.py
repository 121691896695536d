"""The names around a gap."""

from __future__ import annotations

from stepscope.tables.core.profile import Host
from tests.profiles import event
from tests.unit.tables.account.test_account import host, told


def gaps(line: str) -> dict[str, float]:
    one: Host = host(
        f"""
        /host:CPU
          python   S---------S---------
          "        {line}
        """,
        A=event("SaveV2:SaveV2"),
        M=event("MergeV2Checkpoints:MergeV2Checkpoints"),
        R=event("Const:Const"),
        D=event("TFE_DeleteTensorHandle"),
        V=event("aten/view:view"),
    )
    return {name: time for (kind, name), time in told(one).items() if kind == "unrecorded"}


def test_where_nothing_else_ran_it_does() -> None:
    assert gaps("D.........D.........") == {
        "TFE_DeleteTensorHandle → TFE_DeleteTensorHandle": 0.9,
        "after TFE_DeleteTensorHandle": 0.9,
    }


def test_between_the_batches_that_keras_marks_its_callbacks_run() -> None:
    """Each batch is marked for four moments of ten, in all of which its op runs."""
    one: Host = host(
        """
        /host:CPU
          python   K---......K---......K---......
          "        A---......A---......A---......
        """,
        K=event("Profiled batch"),
        A=event("StatefulPartitionedCall/net/MatMul:MatMul"),
    )
    times = {name: time for (kind, name), time in told(one).items() if kind == "unrecorded"}
    assert list(times) == ["between the batches that Keras marks, where callbacks run"]
