"""The same questions about any thing of a recording."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import stepscope
from stepscope.redaction.columns import redact
from stepscope.schema.sources import source_hash
from stepscope.session import Session
from stepscope.session.about import About, about, about_step, compared, names_of, source_lines
from stepscope.session.compare import compare
from stepscope.tables.core.profile import Host
from stepscope.tables.recording.environment import source_files
from tests.profiles import environment, gpu, host, line, space, stream
from tests.profiles.loops import Kernel, Loop, record
from tests.profiles.model import EventLike
from tests.unit.analysis.test_module_tree import kernel, module
from tests.unit.formats.kineto.layout import allocation, text, x

SLOW_STEP = 6


def python_loop(flip_us: float = 60.0, **facts: str) -> bytes:
    """A loop with a function of its own and a kernel, four times as long in one step."""
    main: list[EventLike] = []
    kernels: list[EventLike] = []
    for step in range(12):
        begin = 1000.0 * step
        main += [
            ("train", begin, 980.0, {"step_num": step, "_r": 1}),
            ("$train.py:12 step", begin + 2, 970.0),
            ("$augment.py:40 flip", begin + 10, flip_us),
            ("cuLaunchKernel", begin + 100, 10.0, {"correlation_id": step + 1}),
        ]
        us = 800.0 if step == SLOW_STEP else 200.0
        kernels.append(("sgemm", begin + 120, us, {"correlation_id": step + 1}))
    return space(host(line("python", *main)), gpu(0, stream(7, *kernels)), environment(**facts))


def opened(folder: Path, content: bytes) -> Session:
    folder.mkdir()
    (folder / "host.xplane.pb").write_bytes(content)
    return stepscope.open(folder)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with opened(tmp_path_factory.mktemp("about") / "loop", python_loop()) as found:
        yield found


def texts(found: About) -> dict[str, str]:
    return {answer.question: answer.text for answer in found.answers}


def test_kernel_has_every_answer(session: Session) -> None:
    found = about(session, "sgemm")
    said = texts(found)
    assert said["How long"].startswith("3 ms in 12 runs: median 200 µs")
    assert "longest 800 µs" in said["How long"]
    assert said["Launched by"].startswith("cuLaunchKernel, within $train.py:12 step")
    assert said["Could be"] == "Its FLOP and bytes were not recorded."
    assert said["Memory"] == "Allocations were not recorded."
    assert len(found.step_num) == len(found.step_ms)
    assert sum(found.bin_count) == 12


def test_slow_steps_are_links_that_select_them(session: Session) -> None:
    found = about(session, "sgemm")
    (often,) = (answer for answer in found.answers if answer.question == "How often")
    assert "1 run, 200 µs in each of" in often.text
    assert "1.5× or more in 1 step" in often.text
    assert [(link.part, link.value) for link in often.links] == [("steps", str(SLOW_STEP))]
    selected = about(session.select(steps=SLOW_STEP), "sgemm")
    assert texts(selected)["How long"] == "800 µs in 1 run."


def test_function_is_found_by_its_calls(session: Session, tmp_path: Path) -> None:
    (tmp_path / "augment.py").write_text("\n" * 39 + "def flip():\n    pass\n")
    found = about(session, "flip", root=str(tmp_path))
    assert texts(found)["How long"].startswith("720 µs in 12 runs")
    assert texts(found)["Where from"] == "augment.py:40 flip."
    assert (40, "def flip():") in found.lines


def test_op_runs_as_its_kernels_and_differs_by_them(tmp_path: Path) -> None:
    sides = []
    for name, us in (("before", 400.0), ("after", 700.0)):
        loop = Loop(kernels=(Kernel("sgemm", us, "dense/MatMul:MatMul"),), steps=10, wait="cuSync")
        sides.append(opened(tmp_path / name, record(loop)["host-0"]))
    before, after = sides
    assert texts(about(after, "dense/MatMul"))["How long"].startswith("7 ms in 10 runs")
    assert texts(about(after, "sgemm"))["Launched by"].startswith("op dense/MatMul, ")
    found = compare(before, after)
    for name in ("sgemm", "dense/MatMul"):
        answer = compared(found, names_of(after, name))
        assert answer.text == "+300 µs per step against before: 400 µs before, 700 µs now."
    assert compared(found, ("nothing",)).links[0].tool == "compare"
    marks = [("train", 1000.0 * step, 980.0, {"step_num": step, "_r": 1}) for step in range(12)]
    sides.append(opened(tmp_path / "cpu", space(host(line("python", *marks)))))
    elsewhere = compared(compare(sides[-1], after), names_of(after, "sgemm"))
    assert elsewhere.text == "The run before, cpu, used other hardware."
    for side in sides:
        side.close()


def test_slow_step_differs_by_its_kernel(session: Session) -> None:
    answers = {answer.question: answer for answer in about_step(session, SLOW_STEP).answers}
    assert answers["Differs"].text.startswith("sgemm +600 µs, than in step ")
    assert answers["Differs"].links[0].tool == "trace_viewer"
    assert answers["How long"].links[0].from_ms == pytest.approx(SLOW_STEP)
    missing = about_step(session, 10**9).answers
    assert [answer.text for answer in missing] == ["No step has this number."]


def test_change_at_lines_of_the_program_is_told_apart(session: Session, tmp_path: Path) -> None:
    with opened(tmp_path / "after", python_loop(flip_us=90.0)) as after:
        found = compare(session, after)
    assert found.lines_text.startswith("In your code: ")
    row = next(row for row in found.lines.records() if row.function == "flip")
    assert (row.file, row.line) == ("augment.py", 40)
    assert row.delta_ms == pytest.approx(0.03)
    assert sum(row.delta_ms for row in found.lines.records()) == pytest.approx(found.delta_ms)


def test_kernel_of_several_ops_has_none_of_them_alone(tmp_path: Path) -> None:
    kernels = (Kernel("sgemm", 100, "a/MatMul:MatMul"), Kernel("sgemm", 300, "b/MatMul:MatMul"))
    content = record(Loop(kernels=kernels, steps=6, wait="cuSync"))["host-0"]
    with opened(tmp_path / "several", content) as found:
        said = texts(about(found, "sgemm"))
    assert said["Where from"] == "of 2 ops, most time in b/MatMul."
    assert "MatMul" not in said["Launched by"]


def test_op_of_a_host_is_found_by_its_event_with_the_type(tmp_path: Path) -> None:
    """TensorFlow's events of a host are named ``operation:type``."""
    steps: list[EventLike] = [
        ("train", 1000.0 * step, 900.0, {"step_num": step, "_r": 1}) for step in range(8)
    ]
    ops: list[EventLike] = [("dense/MatMul:MatMul", 1000.0 * step + 10, 300.0) for step in range(8)]
    content = space(host(line("python", *steps), line("tf_Compute/1", *ops)))
    with opened(tmp_path / "loop", content) as found:
        said = texts(about(found, "dense/MatMul"))
    assert said["How long"].startswith("2.4 ms in 8 runs")
    assert said["How often"].startswith("1 run, 300 µs in each of")


def torch_loop(folder: Path) -> Session:
    """A module whose op launches three kernels and holds two blocks, from a line of a program."""
    events = [
        x("python_function", "train.py(7): step", 0, 300, Python_id=1),
        module("Net_0", 1, 100),
        x("python_function", "model.py(12): forward", 2, 90, Python_id=2),
        x("cpu_op", "aten::addmm", 15, 40),
        allocation(16, 64 << 20, 64 << 20, addr=1),
        allocation(17, 16 << 20, 80 << 20, addr=2),
        *(each for n, us in enumerate((5, 7, 12)) for each in kernel(n + 1, 18 + 10 * n, us)),
        allocation(70, -(64 << 20), 16 << 20, addr=1),
    ]
    folder.mkdir()
    (folder / "host.pt.trace.json").write_bytes(text(events).encode())
    return stepscope.open(folder)


def test_op_line_and_module_are_told_as_work_sums_them(tmp_path: Path) -> None:
    with torch_loop(tmp_path / "torch") as found:
        for by in ("op", "line", "module"):
            (row,) = found.work_table(group_by=by, where="device").groups.records()
            at = ("forward", "model.py", 12) if by == "line" else (row.name,)
            said = about(found, *at)
            assert texts(said)["How long"].startswith("24 µs in 3 runs: median 7 µs"), by
            assert row.self_time_us == 24
            assert texts(said)["Memory"].startswith("80.0 MiB at the peak"), by
            assert sum(said.bin_count) == 3
        (op,) = found.work_table(group_by="op", where="device").groups.records()
        answers = {one.question: one for one in about(found, op.name).answers}
        assert answers["Where from"].text == "model.py:12 forward, module Net_0."
        assert [(link.options["group_by"], link.rows) for link in answers["Where from"].links] == [
            ("line", ("model.py:12 forward",)),
            ("module", ("Net_0",)),
        ]
        assert answers["Memory"].text.endswith("and never freed.")
        assert answers["Memory"].links[0].rows == ("aten/addmm:addmm",)
        of_kernel = texts(about(found, "gemm"))
        assert of_kernel["Memory"].startswith("Its op holds 80.0 MiB at the peak")


def test_unknown_names_say_so(session: Session) -> None:
    for name in ("", "no such thing", "(", "x" * 5000):
        said = texts(about(session, name))
        assert said["How long"] == "No event of this name is on the timeline."
        assert said["How often"] == "No event of this name is on the timeline."


@pytest.mark.parametrize("file", ["../secret.py", "/etc/passwd", "notes.txt", "", "none.py"])
def test_only_source_below_the_folder_is_read(tmp_path: Path, file: str) -> None:
    (tmp_path / "secret.py").write_text("secret")
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "notes.txt").write_text("notes")
    (folder / "link.py").symlink_to(tmp_path / "secret.py")
    assert list(source_lines(str(folder), file, 1, 3)) == []
    assert list(source_lines(str(folder), "link.py", 1, 3)) == []
    assert list(source_lines("", "secret.py", 1, 3)) == []


# What is above line 40.
BEFORE = "\n" * 39


def hashed_loop(path: Path) -> bytes:
    """The loop with the hash of a file that its recorder found at this path."""
    content = path.read_bytes()
    stored = f"{len(content)} {source_hash(content)} {path.name}"

    return python_loop(_source_hashes=stored)


def source_of(folder: Path, root: str = "") -> tuple[list[str], str]:
    with stepscope.open(folder) as session:
        found = about(session, "flip", "augment.py", 40, root)
    return [line for _, line in found.lines if line], found.changed


def test_source_is_shown_only_of_the_file_that_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "program" / "augment.py"
    path.parent.mkdir()
    monkeypatch.chdir(path.parent)
    path.write_text(BEFORE + "flip = 1\n")
    opened(tmp_path / "log", hashed_loop(path)).close()
    assert source_of(tmp_path / "log") == (["flip = 1"], "")
    path.write_text(BEFORE + "flip = 2\n")
    changed = "augment.py has changed since the recording"
    assert source_of(tmp_path / "log") == ([], f"{changed}: its lines are not shown.")
    lines = ["flip = 2"]
    assert source_of(tmp_path / "log", str(path.parent)) == (lines, f"{changed}.")
    path.rename(tmp_path / "other.py")
    path.symlink_to(tmp_path / "other.py")
    (tmp_path / "other.py").write_text(BEFORE + "flip = 1\n")
    assert source_of(tmp_path / "log") == ([], "")


def test_without_a_hash_no_source_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "augment.py"
    path.write_text("flip = 1\n")
    opened(tmp_path / "log", python_loop()).close()
    assert source_of(tmp_path / "log") == ([], "")


def test_redaction_removes_the_hashes(tmp_path: Path) -> None:
    path = tmp_path / "augment.py"
    path.write_text("flip = 1\n")
    with opened(tmp_path / "log", hashed_loop(path)) as session:
        (host,) = session.profile.hosts
        assert source_files(host) == {path.name: (9, source_hash(b"flip = 1\n"))}
        redacted = redact(host.space, "paths", b"key")
    assert source_files(Host("host", redacted)) == {}
    assert source_hash(b"flip = 1\n").encode() not in bytes(redacted.buffer)
