"""A hang in one sentence: who is missing, who called something else, who was late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis.hung_collectives import HungCollectives
from stepscope.errors import NothingToShow
from tests.profiles import worked_example
from tests.unit.formats.nccl.dumps import dump, entry, write_dumps


def told(folder: Path, *ranks: dict[str, Any]) -> HungCollectives:
    write_dumps(folder, *ranks)
    found = stepscope.open(folder).run("hung_collectives")
    assert isinstance(found, HungCollectives)
    return found


def finished(count: int, late_ms: float = 0.0) -> list[dict[str, Any]]:
    return [entry(n, 10 * n + late_ms) for n in range(1, count + 1)]


def test_a_rank_that_does_not_call_is_named_with_what_it_called_last(tmp_path: Path) -> None:
    here = dump([*finished(3), entry(4, 40, "started"), entry(5, 41, "scheduled")], 4)
    found = told(tmp_path, here, here, dump(finished(3), 4), here)
    assert found.headline == (
        "all_reduce #4 of default_pg waits for rank 2, which did not call it; its last call was "
        "all_reduce #3 at work/train.py:43 step, finished."
    )
    assert found.is_stuck
    (row,) = found.stuck.rows()
    assert (row["state"], row["ranks"], row["joined"], row["missing"]) == (
        "rank missing",
        4,
        3,
        "rank 2",
    )
    assert row["behind"] == 1
    assert [one["unfinished"] for one in found.ranks.rows()] == [2, 2, 0, 2]


def test_a_rank_that_calls_something_else_is_named(tmp_path: Path) -> None:
    same = dump([*finished(2), entry(3, 30, "scheduled")], 3)
    other = entry(3, 30, "scheduled", profiling_name="nccl:_all_gather_base")
    found = told(tmp_path, same, dump([*finished(2), other], 3), same)
    assert found.headline == (
        "all_reduce #3 of default_pg was called differently: rank 1 called _all_gather_base where "
        "2 ranks called all_reduce."
    )


def test_a_rank_that_gives_another_size_is_named(tmp_path: Path) -> None:
    same = dump([*finished(2), entry(3, 30, "scheduled")], 3)
    other = entry(3, 30, "scheduled", input_sizes=[[100]])
    found = told(tmp_path, same, same, dump([*finished(2), other], 3))
    assert (
        "rank 2 called all_reduce [100] Float where 2 ranks called all_reduce [512, 2] Float"
        in (found.headline)
    )


def test_sizes_of_an_all_to_all_may_differ(tmp_path: Path) -> None:
    calls = [
        dump([entry(1, 0, profiling_name="nccl:all_to_all", input_sizes=[[size]])])
        for size in (5, 9)
    ]
    assert not told(tmp_path, *calls).is_stuck


def test_a_chain_of_waiting_ends_at_the_rank_that_holds_it(tmp_path: Path) -> None:
    """Ranks 0 and 1 wait for 2, which waits for 3 in another group, which is somewhere else."""
    pipe = {"process_group": ("7", "pipe"), "pg_id": 7}
    found = told(
        tmp_path,
        dump([entry(1, 0, "started")], 4, **{"7": [2, 3]}),
        dump([entry(1, 1, "started")], 4, **{"7": [2, 3]}),
        dump([entry(1, 5, "started", **pipe)], 4, **{"7": [2, 3]}),
        dump([], 4, **{"7": [2, 3]}),
    )
    assert found.headline == (
        "all_reduce #1 of pipe waits for rank 3, which did not call it; it called nothing at all."
    )
    assert [row["missing"] for row in found.stuck.rows()] == ["rank 2, rank 3", "rank 3"]


def test_ranks_without_a_dump_are_said_and_not_blamed(tmp_path: Path) -> None:
    found = told(tmp_path, dump([entry(1, 0, "started")], 3), dump([entry(1, 1, "started")], 3))
    assert not found.is_stuck
    assert found.headline.endswith("on the 2 ranks with a dump; rank 2 left none.")
    assert "no dump of rank 2" in found.diagnostics[0].message


def test_what_fell_out_of_a_ring_is_not_missing(tmp_path: Path) -> None:
    found = told(tmp_path, dump(finished(9)), dump(finished(9)[4:]))
    assert not found.is_stuck and not len(found.stuck)


def test_who_comes_last_is_counted_where_all_came(tmp_path: Path) -> None:
    found = told(tmp_path, dump(finished(4), 3), dump(finished(4, 2.5), 3), dump(finished(4, 1), 3))
    assert found.headline == (
        "Every one of the 12 calls in the dumps had finished; rank 1 was last in 100 % of "
        "4 collectives, 6.0 ms after the middle rank in total."
    )
    assert [row["came_last"] for row in found.ranks.rows()] == [0, 4, 0]
    assert [row["late_ms"] for row in found.ranks.rows()] == pytest.approx([0, 6.0, 0])


def test_all_called_and_it_runs_is_no_hang(tmp_path: Path) -> None:
    found = told(tmp_path, dump([entry(1, 0, "started")]), dump([entry(1, 8, "started")]))
    assert not found.is_stuck
    assert "rank 1 last and 8.0 ms after the first" in found.headline


def test_messages_between_two_ranks_are_counted(tmp_path: Path) -> None:
    message = entry(1, 0, "started", is_p2p=True, profiling_name="nccl:send 0->1")
    found = told(tmp_path, dump([message, entry(1, 1)]), dump([entry(1, 1)]))
    assert not found.is_stuck
    assert "1 send and receive" in found.diagnostics[0].message


def test_other_recordings_have_no_such_page(tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb").write_bytes(worked_example())
    with pytest.raises(NothingToShow):
        stepscope.open(tmp_path).run("hung_collectives")
