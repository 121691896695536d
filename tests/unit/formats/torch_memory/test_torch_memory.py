"""PyTorch's memory snapshots open as memory over time, and run nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis.overview_page import OverviewPage
from stepscope.columns.space import Space
from stepscope.errors import FormatError, NothingToShow
from stepscope.formats import FORMATS
from stepscope.formats.python_frames import FrameTexts, place_of, shown_frames
from stepscope.store import find, read_pieces
from tests.unit.formats.layout import Event, lines
from tests.unit.formats.torch_memory.snapshot import MB, START_US, event, segment, training, written

LINE = ("/host:CPU", "Memory of GPU 0")


def opened(path: Path) -> Space:
    return FORMATS["torch-memory"].open(read_pieces(str(path)), str(path))


def memory(space: Space) -> list[Event]:
    return [one for one in lines(space)[LINE] if one["name"].startswith("Memory")]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_memory_over_time_is_what_the_allocator_held(tmp_path: Path, protocol: int) -> None:
    space = opened(written(tmp_path / "a.pickle", training(), protocol))
    events = [one for one in memory(space) if "addr" in one]
    assert [one["bytes_allocated"] // MB for one in events] == [2, 10, 8, 24, 28, 12]
    assert [one["bytes_available"] // MB for one in events] == [58, 50, 52, 16, 12, 28]
    assert [one["peak_bytes_in_use"] // MB for one in events] == [2, 10, 10, 24, 28, 28]
    assert [one.get("tf_op", "") for one in events] == [
        "Allocated before the recording",
        "work/train.py:3 main",
        "",
        "work/model.py:40 forward",
        "work/train.py:12 step",
        "",
    ]
    assert (events[4]["region_type"], events[4]["start"]) == ("gradient", (START_US + 20) * 1000)
    assert events[3]["source_stack"].split("\n") == [
        "torch/nn/linear.py:9 forward",
        "work/model.py:40 forward",
        "work/train.py:12 step",
    ]


def test_the_end_agrees_with_the_segments(tmp_path: Path) -> None:
    space = opened(written(tmp_path / "a.pickle", training()))
    last = [one for one in memory(space) if "addr" in one][-1]
    assert last["bytes_allocated"] == 12 * MB
    assert last["bytes_allocated"] + last["bytes_available"] == 40 * MB
    assert last["fragmentation"] == pytest.approx(1 - 16 / 28)
    page = stepscope.open(tmp_path / "a.pickle").overview_page()
    assert page.environment.framework == "PyTorch"
    notes = page.completeness.notes
    assert any("41,943,040 bytes reserved in 1 segments" in one for one in notes)


def test_where_memory_ran_out_is_said(tmp_path: Path) -> None:
    found = lines(opened(written(tmp_path / "a.pickle", training())))[LINE]
    (oom,) = [one for one in found if one["name"] == "Out of memory"]
    assert (oom["requested_bytes"], oom["device_free_bytes"]) == (900 * MB, 5 * MB)


def test_the_memory_page_names_lines_at_the_peak(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pickle", training())
    ((source,),) = (run.sources for run in find(path).runs)
    assert source.format == "torch-memory"
    text = str(stepscope.open(path).memory_profile().to_dict())
    assert "work/model.py:40 forward" in text
    assert "/home/me" not in text
    with pytest.raises(NothingToShow):
        stepscope.open(path).kernel_stats()


def test_events_without_time_keep_their_order(tmp_path: Path) -> None:
    value = training()
    for one in value["device_traces"][0]:
        del one["time_us"]
    space = opened(written(tmp_path / "a.pickle", value))
    assert [one["bytes_allocated"] // MB for one in memory(space) if "addr" in one] == [
        2,
        10,
        8,
        24,
        28,
        12,
    ]
    assert any("no time" in one for one in space.warnings)


def test_a_snapshot_of_before_2_0_has_its_blocks(tmp_path: Path) -> None:
    old = [
        {"device": 0, "address": 0, "total_size": 4 * MB, "blocks": [
            {"size": MB, "state": "active_allocated", "history": [
                {"addr": 0, "real_size": MB, "frames": [
                    {"filename": "/home/me/a.py", "line": 3, "name": "f"}]}]},
            {"size": 3 * MB, "state": "inactive"},
        ]},
    ]  # fmt: skip
    (one,) = [event for event in memory(opened(written(tmp_path / "a.pickle", old)))]
    assert (one["bytes_allocated"], one["tf_op"]) == (MB, "me/a.py:3 f")


def test_many_events_are_columns_not_dicts(tmp_path: Path) -> None:
    value = training()
    value["segments"] = []
    value["device_traces"] = [
        [event("alloc", n, 1, n, "a.py:1 f") for n in range(5_000)]
        + [event("free_completed", n, 1, 30_000 + n) for n in range(5_000)]
    ]
    events = memory(opened(written(tmp_path / "a.pickle", value)))
    assert max(one["bytes_allocated"] for one in events) == 5_000
    assert events[-1]["bytes_allocated"] == 0


ODD: list[Any] = [None, "x", -1, 2**70, 1.5, float("nan"), [], {}, True, [[[]]]]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize(
    "field", ["addr", "size", "time_us", "frames", "category", "action", "device_free"]
)
def test_any_field_may_hold_anything(tmp_path: Path, field: str, odd: Any) -> None:
    value = training()
    value["device_traces"][0][3][field] = odd
    assert len(memory(opened(written(tmp_path / "a.pickle", value)))) >= 4


@pytest.mark.parametrize("key", ["segments", "device_traces"])
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_snapshot_of_any_shape_opens_or_says_why_not(tmp_path: Path, key: str, odd: Any) -> None:
    value = {**training(), key: odd}
    opened(written(tmp_path / "a.pickle", value))
    with pytest.raises(FormatError):
        opened(written(tmp_path / "b.pickle", {"segments": odd, "device_traces": odd}))


@pytest.mark.parametrize("odd", [2**31, 2**70, -1, 0, True, None, "x", {}, {"action": "alloc"}])
def test_what_is_no_event_in_a_history_is_counted(tmp_path: Path, odd: Any) -> None:
    value = training()
    expected = memory(opened(written(tmp_path / "a.pickle", value)))
    value["device_traces"][0].insert(3, odd)
    space = opened(written(tmp_path / "b.pickle", value))
    found = memory(space)
    # A number may name an event, which then stands where the number does; never twice.
    assert sorted(map(str, found)) == sorted(map(str, expected)) or odd == 0
    assert len(found) == len(expected)
    (said,) = (one for one in space.warnings if "history" in one)
    assert said.startswith("1 entries")


def test_more_devices_than_pytorch_can_number_are_refused(tmp_path: Path) -> None:
    value = training()
    value["segments"].append(segment(0, MB, device=127))
    assert opened(written(tmp_path / "a.pickle", value)).events
    value["segments"].append(segment(0, MB, device=128))
    with pytest.raises(FormatError, match="names GPU 128"):
        opened(written(tmp_path / "b.pickle", value))


def test_a_history_beside_its_devices_is_counted(tmp_path: Path) -> None:
    value = training()
    value["device_traces"] = {"0": value["device_traces"][0]}
    space = opened(written(tmp_path / "a.pickle", value))
    assert any(one.startswith("8 entries of the history") for one in space.warnings)


def test_sizes_that_no_machine_has_do_not_end_in_an_error(tmp_path: Path) -> None:
    value = training()
    (segment,) = value["segments"]
    segment["total_size"] = 2**63 - 1
    for block in segment["blocks"]:
        block |= {"size": 2**63 - 1, "address": 2**63 - 1}
    value["segments"] *= 3
    for one in value["device_traces"][0]:
        one["size"] = 2**63 - 1
    assert opened(written(tmp_path / "a.pickle", value)).events


def stack(*names: str) -> list[dict[str, Any]]:
    """A stack of C++ alone, innermost first, as the unwinder of PyTorch writes it."""
    return [{"filename": "??", "line": 0, "name": name} for name in names]


_UNWINDER = ("torch::unwind::unwind()", "torch::CapturedTraceback::gather(bool, bool, bool)")


def test_a_gradient_is_held_by_the_node_of_autograd_that_made_it() -> None:
    engine = ("torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask>)",)
    frames = stack(
        *_UNWINDER,
        "at::_ops::zeros::call(c10::ArrayRef<c10::SymInt>)",
        "torch::autograd::generated::SliceBackward0::apply(std::vector<at::Tensor>&&)",
        *engine,
    )
    assert place_of(frames, FrameTexts()) == "SliceBackward0 (backward)"


def test_without_python_and_autograd_the_op_that_was_called_holds_memory() -> None:
    frames = stack(*_UNWINDER, "at::_ops::empty::redispatch(int)", "at::_ops::zeros::call(int)")
    assert place_of(frames, FrameTexts()) == "aten/zeros"
    assert place_of(stack(*_UNWINDER), FrameTexts()) == ""


def test_a_librarys_python_comes_before_its_ops() -> None:
    python = {"filename": "/x/site-packages/peft/lora.py", "line": 7, "name": "forward"}
    frames = [*stack("at::_ops::mm::call(int)"), python]
    assert place_of(frames, FrameTexts()) == "peft/lora.py:7 forward"


def test_what_a_compiler_wrote_is_not_the_programs_own() -> None:
    name = "cz3vcpgktv5ml3u33u6ylioqz73qzckh5lb5msnz4b7q6gkaykiv.py"
    paths = [f"/tmp/torchinductor_me/z3/{name}", f"/home/me/cache/z3/{name}", "/home/me/clean.py"]
    frames = [{"filename": path, "line": 7, "name": "call"} for path in paths]
    assert [is_own for _, is_own in shown_frames(frames)] == [False, False, True]


def test_that_memory_ran_out_is_said_first(tmp_path: Path) -> None:
    with stepscope.open(written(tmp_path / "a.pickle", training())) as session:
        page = session.run("overview_page")
        assert isinstance(page, OverviewPage)
        said = " ".join(page.completeness.notes)
    assert "Memory ran out once: 943,718,400 bytes were asked for the last time." in said
    # Nothing ran that has steps: nobody is asked to mark them.
    assert "Mark steps" not in said
    assert page.headline.startswith("Only memory was recorded")
    assert "memory_profile" in page.headline
