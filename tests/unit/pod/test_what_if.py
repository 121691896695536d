"""PodReplays against jobs simulated event by event, and against published answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from bench import what_if as command
from stepscope.errors import StepscopeError
from stepscope.pod.what_if import what_if
from tests.unit.pod.jobs import Job, makespan

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "straggler-what-if"
SHAPES = [
    Job(),
    Job(stages=1, replicas=3),
    Job(stages=4, replicas=1, batches=6),
    Job(stages=3, replicas=2, batches=2),
    Job(stages=2, replicas=2, batches=4, parts=2),
    Job(stages=4, replicas=2, batches=4, parts=3),
]


def slow_worker(job: Job, factor: float = 2.0) -> Job:
    """The last replica's first stage takes longer in every step."""
    return replace(job, slow={(job.replicas - 1, 0, step): factor for step in range(job.steps)})


@pytest.mark.parametrize("job", SHAPES, ids=str)
def test_a_replay_of_what_was_recorded_takes_as_long_as_the_job(job: Job) -> None:
    table = slow_worker(job).table()
    assert what_if(table).step_s == pytest.approx(makespan(table), rel=1e-9)


@pytest.mark.parametrize("job", SHAPES, ids=str)
def test_the_ideal_step_is_that_of_the_job_with_mean_durations(job: Job) -> None:
    if job.parts > 1:
        job = replace(job, message_s=0.0)  # the ends of the pipeline have messages to nobody, too
    found = what_if(slow_worker(job).table())
    # One worker in (stages × replicas) is twice as slow: all computing is idealised to this mean.
    mean = 1 + 1 / (job.stages * job.replicas)
    even = replace(
        job,
        slow={
            (replica, stage, step): mean
            for replica in range(job.replicas)
            for stage in range(job.stages)
            for step in range(job.steps)
        },
    )
    assert found.ideal_s == pytest.approx(makespan(even.table()), rel=1e-9)


def test_the_slow_worker_is_on_top_and_mending_it_saves_what_the_job_without_it_takes() -> None:
    job = Job(stages=2, replicas=4, batches=6)
    found = what_if(slow_worker(job).table())
    assert found.top is not None
    assert (found.top.replica, found.top.stage, found.top.rank) == (3, 0, 3)
    fixed = slow_worker(job, factor=1 + 1 / 8)
    share = (found.step_s - makespan(fixed.table())) / (found.step_s - found.ideal_s)
    assert found.by_workers == pytest.approx(share, rel=1e-9)
    assert found.by_last_stage == pytest.approx(0.0, abs=0.2)


def test_a_long_last_stage_is_told_from_a_slow_worker() -> None:
    job = Job(stages=3, replicas=2, batches=6)
    slow = {(replica, 2, step): 1.5 for replica in range(2) for step in range(2)}
    found = what_if(replace(job, slow=slow).table())
    assert found.top is not None
    assert found.top.stage == 2
    assert found.by_last_stage is not None
    assert found.by_workers is not None
    assert found.by_last_stage > 0.9 > found.by_workers


def test_nothing_is_divided_where_no_straggler_costs_three_percent() -> None:
    found = what_if(Job().table())
    assert found.slowdown == pytest.approx(1.0)
    assert (found.by_workers, found.by_last_stage, found.top) == (None, None, None)


def test_what_a_table_lacks_is_told_from_the_rest() -> None:
    table = slow_worker(Job(stages=1, replicas=3)).table()
    whole = what_if(table)
    bare = table.filter(pl.col("step") == 0).select("rank", "optype", "start_ts", "duration")
    assert what_if(bare).slowdown == pytest.approx(whole.slowdown)


def test_types_of_columns_do_not_matter() -> None:
    table = slow_worker(Job()).table()
    narrow = table.with_columns(
        pl.col("optype").cast(pl.Categorical),
        pl.col("step", "rank").cast(pl.String),
        pl.col("dp_rank", "stage", "mc").cast(pl.Int8),
        pl.col("start_ts", "duration").cast(pl.Float32),
    )
    assert what_if(narrow).slowdown == pytest.approx(what_if(table).slowdown, rel=1e-5)


def test_replicas_and_stages_may_have_any_numbers() -> None:
    table = slow_worker(Job()).table()
    found = what_if(table.with_columns(pl.col("dp_rank") * 7 + 3, pl.col("stage") + 5))
    assert found.top is not None
    assert (found.top.replica, found.top.stage) == (10, 5)
    assert found.slowdown == pytest.approx(what_if(table).slowdown)


def test_ranks_that_share_a_place_count_once() -> None:
    table = slow_worker(Job()).table()
    twice = pl.concat([table, table.with_columns(pl.col("rank") + 1000)])
    found = what_if(twice)
    assert found.slowdown == pytest.approx(what_if(table).slowdown)
    assert found.left_out == ("4 ranks that share stage and replica with another",)


def test_a_step_that_lacks_an_operation_is_left_out_and_said() -> None:
    table = slow_worker(Job(steps=3)).table()
    is_gone = (pl.col("step") == 1) & (pl.col("dp_rank") == 0) & (pl.col("optype") == "optimizer")
    found = what_if(table.filter(~is_gone))
    assert found.steps == 2
    assert found.left_out == ("1 of 3 steps lack operations",)


def test_a_replica_that_lacks_operations_everywhere_is_left_out_and_said() -> None:
    table = slow_worker(Job(replicas=4)).table()
    is_gone = (pl.col("dp_rank") == 1) & (pl.col("optype") == "optimizer") & (pl.col("stage") == 0)
    found = what_if(table.filter(~is_gone))
    assert found.steps == 2
    assert found.left_out == ("replicas that lack operations: 1",)


def test_unknown_types_are_left_out_and_said() -> None:
    table = slow_worker(Job()).table()
    strange = table.head(3).with_columns(pl.lit("expert-all-to-all").alias("optype"))
    found = what_if(pl.concat([table, strange]))
    assert found.slowdown == pytest.approx(what_if(table).slowdown)
    assert found.left_out == ("3 operations of unknown types: expert-all-to-all",)


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (pl.DataFrame({"a": [1]}), "not a table of operations"),
        (Job().table().clear(), "empty"),
        (Job().table().with_columns(pl.lit("x").alias("start_ts")), "unusable type"),
        (Job().table().with_columns(pl.lit("x").alias("stage")), "unusable type"),
        (Job().table().with_columns(-pl.col("duration") - 1), "without a begin or a duration"),
        (Job().table().with_columns(pl.lit(None).alias("start_ts")), "without a begin"),
        (Job().table().with_columns(pl.lit(float("nan")).alias("duration")), "without a begin"),
        (Job().table().with_columns(pl.lit(None, pl.Int64).alias("step")), "without a place"),
        (Job().table().with_columns(pl.lit("x").alias("optype")), "no operation of a known type"),
        (Job().table().with_columns(pl.lit(0).alias("seq_id")), "an operation twice"),
    ],
)
def test_what_is_no_table_of_operations_is_refused(table: pl.DataFrame, what: str) -> None:
    with pytest.raises(StepscopeError, match=what) as caught:
        what_if(table, "here.parquet")
    assert caught.value.anchor == "no-operations"


def test_a_schedule_that_waits_for_itself_is_refused() -> None:
    # The first stage's first backward runs before its first forward: both stages wait.
    table = Job(stages=2, replicas=1, batches=1).table()
    is_first = (pl.col("stage") == 0) & pl.col("optype").str.starts_with("backward")
    turned = table.with_columns(
        pl.when(is_first).then(-9.0).otherwise(pl.col("start_ts")).alias("start_ts")
    )
    with pytest.raises(StepscopeError, match="wait for one another"):
        what_if(turned)


def test_the_command_says_what_is_wrong_with_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.parquet"
    path.write_bytes(b"PAR1 not really")
    assert command.main([str(path)]) == StepscopeError.exit_code
    assert "not a Parquet file" in capsys.readouterr().err
    assert command.main([str(tmp_path / "absent.parquet")]) == StepscopeError.exit_code


@pytest.mark.skipif(not PUBLISHED.exists(), reason="needs ../shared/data/straggler-what-if")
@pytest.mark.parametrize("name", ["AR", "ST"])
def test_published_jobs_have_the_published_answers(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([str(PUBLISHED / f"trace-{name}.parquet")]) == 0
    found = json.loads(capsys.readouterr().out)
    result = json.loads((PUBLISHED / f"result-{name}.json").read_text())
    assert found["S"] == pytest.approx(result["blocking_slowdown"], rel=1e-5)
    for axis in ("dp_rank", "stage"):
        published = result[f"blocking_decompose_by_{axis}"]
        assert str(found["top"][axis]) == max(published, key=published.__getitem__)
    for measure, file in (("M_W", "mw"), ("M_S", "ms")):
        published = json.loads((PUBLISHED / f"{file}-{name}.json").read_text())
        assert found[measure] == pytest.approx(published["rem"], abs=1e-4)
