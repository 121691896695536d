"""An iterator that is made in every step: of a DataLoader, or of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.in_steps.loaders import restarts
from tests.profiles import draw, event, nth, space
from tests.unit.advice.asking import Asked
from tests.unit.formats.kineto.layout import profile, x

STEP_US, STEPS = 1000.0, 8
LOAD = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def loop(*, every: int, is_shuffled: bool = True, has_python: bool = True) -> list[dict[str, Any]]:
    """Steps of 1 ms: 0.5 of the loader, where every n-th draws an order, then a product."""
    events: list[dict[str, Any]] = []
    for step in range(STEPS):
        at = STEP_US * step
        events.append(x("user_annotation", f"ProfilerStep#{step}", at, STEP_US))
        events.append(x("user_annotation", LOAD, at + 20, 500))
        events.append(x("cpu_op", "aten::stack", at + 400, 100))
        events.append(x("cpu_op", "aten::mm", at + 550, 400))
        if step % every:
            continue
        if is_shuffled:
            events.append(x("cpu_op", "aten::randperm", at + 30, 300))
        if has_python:
            name = "torch/utils/data/{}.py({}): __iter__"
            events.append(x("python_function", name.format("dataloader", 492), at + 5, 10))
            events.append(x("python_function", name.format("sampler", 160), at + 25, 310))
    return events


def asked(folder: Path, **how: Any) -> Asked:
    return Asked(profile(folder, loop(**how)))


def test_a_loaders_iterator_in_every_step_is_found_with_what_it_takes(tmp_path: Path) -> None:
    found = asked(tmp_path, every=1).finding("restarted-pipeline")
    assert found.measured["restarts_per_step"] == pytest.approx(1.0)
    assert found.measured["restart_ms"] == pytest.approx(0.32)
    assert found.saving_high_ms == pytest.approx(0.5)
    assert found.severity == "high"


def test_a_permutation_of_the_programs_own_does_not_count(tmp_path: Path) -> None:
    events = loop(every=STEPS + 1, has_python=False)[1:]
    events = [one for one in events if one["name"] != "aten::randperm"]
    events += [x("cpu_op", "aten::randperm", STEP_US * n + 960, 30) for n in range(STEPS)]
    (host,) = profile(tmp_path, events).hosts
    assert restarts(host) is None


def test_the_parts_of_a_batch_made_on_the_loops_thread_are_the_inputs(tmp_path: Path) -> None:
    account = asked(tmp_path, every=1).result("step_account")
    share = {one.op: one.number("input_frac") for one in account.part_list()}
    assert share["aten/randperm"] == pytest.approx(1.0)
    assert share["aten/stack"] == pytest.approx(1.0)
    assert share["aten/mm"] == 0.0


def test_a_dataset_in_every_step_is_found_and_inner_ones_are_not_counted() -> None:
    """What an interleave makes for each file, on a thread of tf.data's, does not count."""
    data = draw(
        """
        /host:CPU
          python      S---------S---------S---------S---------S---------S---------
          "           .R---..M--.R---..M--.R---..M--.R---..M--.R---..M--.R---..M--
          "           ..F-.......F-........F-.......F-........F-.......F-.........
          tf_data_0   ..I.I.I...I.I.I.....I.I.I...I.I.I.....I.I.I...I.I.I.........
        """,
        unit_us=100,
        S=event("train", step_num=nth, _r=1),
        R=event("MakeIterator::RootDataset"),
        F=event("MakeIterator::FlatMapDataset"),
        I=event("MakeIterator::TensorSliceDataset"),
        M=event("model/dense/MatMul:MatMul"),
    )
    found = Asked(Profile("s", (Host("host", decode(space(*data))),)))
    one = found.finding("restarted-pipeline")
    assert one.measured["restarts_per_step"] == pytest.approx(1.0)
    assert one.measured["restart_ms"] == pytest.approx(0.4)
    # Half of what surrounds the 0.4 ms of the 1 ms step goes with them at least.
    around = found.result("step_account").part_list()
    most = sum(part.time_ms for part in around if part.kind != "op")
    assert one.saving_ms == pytest.approx((0.4 + most) / 2, abs=0.01)
