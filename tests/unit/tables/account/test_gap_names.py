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


def test_a_gap_is_named_by_what_runs_before_and_after_it() -> None:
    assert gaps("A....M.............A") == {
        "SaveV2 → MergeV2Checkpoints": 0.4,
        "MergeV2Checkpoints → SaveV2": 1.3,
    }


def test_what_every_program_does_names_no_gap() -> None:
    assert gaps("A..D.R..M..........A")["SaveV2 → MergeV2Checkpoints"] == 0.5


def test_where_nothing_else_ran_it_does() -> None:
    assert gaps("D.........D.........") == {
        "TFE_DeleteTensorHandle → TFE_DeleteTensorHandle": 0.9,
        "TFE_DeleteTensorHandle →": 0.9,
    }


def test_before_the_first_and_after_the_last_there_is_one_side() -> None:
    assert gaps("....A...............") == {"→ SaveV2": 0.4, "SaveV2 →": 1.5}


def test_a_view_of_a_tensor_computes_nothing() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        MVV.......MVV.......
        """,
        M=event("aten/mm:mm"),
        V=event("aten/t:t"),
    )
    assert told(one)["framework", "aten/t"] == 0.4


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
