"""What a typed text names in a recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import stepscope
from stepscope.session import Session
from stepscope.session.things import things
from stepscope.tables.sums.work import WorkGroup
from tests.profiles import gpu, host, line, space, stream, worked_example


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder = tmp_path_factory.mktemp("things")
    (folder / "host.xplane.pb").write_bytes(worked_example(gpu=True, steps=6))
    return stepscope.open(folder)


def names(session: Session, text: str) -> set[tuple[str, str]]:
    return {(thing.kind, thing.name) for thing in things(session, text)}


def test_every_row_that_contains_all_words_is_named_once(session: Session) -> None:
    kernels = session.kernel_stats().kernels
    name = str(kernels["name"][0])
    listed = [thing.name for thing in things(session, name.upper()) if thing.kind == "kernel"]
    assert listed[0] == name
    assert len(listed) == len(set(listed))


def test_kernel_is_found_and_listed_by_the_name_that_pages_show(tmp_path: Path) -> None:
    name = "void cudnn::bn_fw<float, 512>(float const*, int)"
    (tmp_path / "host.xplane.pb").write_bytes(space(gpu(0, stream(7, (name, 30.0, 400.0)))))
    session = stepscope.open(tmp_path)
    found = [one for one in things(session, "bn_fw<float>") if one.tool == "work_table"]
    assert [(one.name, one.title) for one in found] == [(name, "bn_fw<float>")]


@pytest.mark.parametrize("by", ["type", "op", "kernel", "module"])
def test_thing_opens_its_row_of_work(session: Session, by: WorkGroup) -> None:
    row = next(session.work_table(group_by=by).groups.records())
    thing = next(one for one in things(session, row.name) if one.kind == by)
    assert (thing.tool, thing.table, thing.row) == ("work_table", "groups", row.name)
    shown: Any = session.run(thing.tool, **thing.options)
    found = [each for each in shown.groups.records() if each.name == thing.row]
    # Its own side, or both where both have it.
    assert {each.host_or_device for each in found} == {
        each.host_or_device
        for each in session.work_table(group_by=by).groups.records()
        if each.name == row.name
    }


def test_findings_come_first_by_title_and_last_by_text(session: Session) -> None:
    finding = session.overview_page().findings[0]
    assert things(session, finding.rule)[0].kind == "finding"
    kernel = str(session.kernel_stats().kernels["name"][0])
    mentioned = replace(finding, title="Something", message=f"Look at {kernel}.")
    with mock.patch.object(session, "findings", lambda: (mentioned,)):
        kinds = [thing.kind for thing in things(session, kernel)]
    assert kinds.index("finding") == len(kinds) - 1 > 0


def test_a_line_of_the_program_leads_to_what_it_runs(tmp_path: Path) -> None:
    main = line(
        "python",
        ("train", 0.0, 980.0, {"step_num": 0, "_r": 1}),
        ("$train.py:31 parse", 2.0, 970.0),
    )
    (tmp_path / "host.xplane.pb").write_bytes(space(host(main)))
    found = things(stepscope.open(tmp_path), "train.py:31")
    assert ("line", "train.py:31", "step_account", "owners.line=31", "train.py") in {
        (thing.kind, thing.name, thing.tool, thing.table, thing.row) for thing in found
    }


def test_line_with_work_is_listed_once_and_opens_work(tmp_path: Path) -> None:
    main = line(
        "python",
        ("train", 0.0, 980.0, {"step_num": 0, "_r": 1}),
        ("$train.py:31 parse", 2.0, 970.0),
        ("cuLaunchKernel", 10.0, 10.0, {"correlation_id": 1}),
    )
    kernel = ("sgemm", 30.0, 400.0, {"correlation_id": 1})
    (tmp_path / "host.xplane.pb").write_bytes(space(host(main), gpu(0, stream(7, kernel))))
    found = [one for one in things(stepscope.open(tmp_path), "train.py:31") if one.kind == "line"]
    assert [(one.name, one.options["group_by"]) for one in found] == [("train.py:31 parse", "line")]


def test_a_number_is_a_step_with_its_moment(session: Session) -> None:
    step = next(session.overview_page().step_table.records())
    (found,) = (thing for thing in things(session, f"step {step.step_num}") if thing.kind == "step")
    assert found.from_ms == step.start_ms
    assert found.to_ms == pytest.approx(step.start_ms + step.step_time_ms)


@pytest.mark.parametrize(
    "text", ["", "   ", "no such thing anywhere", "x" * 10_000, "(((", "\ud800"]
)
def test_a_text_that_names_nothing_finds_nothing(session: Session, text: str) -> None:
    assert names(session, text) == set()


def test_at_most_so_many_of_a_kind_are_listed(session: Session) -> None:
    listed = [thing.kind for thing in things(session, "a", most=1)]
    assert listed
    assert len(listed) == len(set(listed))
