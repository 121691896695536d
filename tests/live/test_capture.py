"""Real TensorFlow and JAX programs, recorded by themselves and opened by every tool."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import stepscope
from bench.contestants import INCUMBENT
from stepscope.analysis import TOOLS
from stepscope.columns import event_stats
from stepscope.errors import NothingToShow
from stepscope.formats.xspace import decode
from stepscope.session import Session

ROOT = Path(__file__).parents[2]
# This tree, whatever is installed.
PATHS = os.pathsep.join([str(ROOT), str(ROOT / "src")])
STEPS = 12

needs_tensorflow = [
    pytest.mark.framework_tf,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
]
needs_jax = [
    pytest.mark.framework_jax,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed"),
]
TENSORFLOW = [pytest.param("tensorflow", marks=needs_tensorflow)]
JAX = [pytest.param("jax", marks=needs_jax)]

_done: dict[str, tuple[Path, dict[str, Any], str]] = {}


@pytest.fixture
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any], str]:
    """Folder, facts and output of a framework's programs, which run once."""
    framework: str = request.param
    if framework not in _done:
        folder = tmp_path_factory.mktemp(framework)
        environment = os.environ | {"PYTHONPATH": PATHS, "TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(
            [sys.executable, "-m", f"tests.live.recorded_{framework}", str(folder)],
            cwd=ROOT,
            env=environment,
            timeout=300,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        facts = json.loads((folder / "facts.json").read_text("utf-8"))
        _done[framework] = folder, facts, done.stderr
    return _done[framework]


Program = tuple[Path, dict[str, Any], str]
tensorflow = pytest.mark.parametrize("program", TENSORFLOW, indirect=True)
jax = pytest.mark.parametrize("program", JAX, indirect=True)
either = pytest.mark.parametrize("program", TENSORFLOW + JAX, indirect=True)


def opened(path: str) -> Session:
    return stepscope.open(path)


def steps_of(path: str) -> int:
    """Steps that a recording holds, those at the edges included."""
    steps = opened(path).overview_page().steps
    return steps.count + steps.dropped


def values_of(path: str, name: str) -> list[dict[str, Any]]:
    """Values of all events of a name."""
    space = decode(Path(path).read_bytes(), strict=True)
    return [
        dict(event_stats(space, number))
        for number, row in enumerate(space.events.metadata.tolist())
        if space.event_metadata.name[row] == name
    ]


@tensorflow
@pytest.mark.parametrize("name", ["fit", "steady_fit", "custom_loop"])
def test_every_step_that_ran_is_there(program: Program, name: str) -> None:
    _, facts, _ = program
    assert facts[name]["warnings"] == []
    assert steps_of(facts[name]["path"]) == STEPS
    assert opened(facts[name]["path"]).overview_page().steps.source == "markers"


@tensorflow
def test_steps_are_found_where_nobody_marked_them(program: Program) -> None:
    _, facts, _ = program
    steps = opened(facts["unmarked"]["path"]).overview_page().steps
    assert steps.source != "markers"
    assert 2 * STEPS - 2 <= steps.count + steps.dropped <= 2 * STEPS


@either
def test_values_of_annotations_come_back_as_they_were(program: Program) -> None:
    _, facts, _ = program
    path = (facts.get("custom_loop") or facts.get("marked"))["path"]  # type: ignore[index]
    steps = values_of(path, "train")
    assert [step["step_num"] for step in steps] == list(range(STEPS))
    assert {step["who"] for step in steps} == {"a,b#c=é"}


@tensorflow
def test_levels_are_those_asked_for(program: Program) -> None:
    _, facts, _ = program
    events = {name: told["events"] for name, told in facts["levels"].items()}
    assert events["0"] == 0
    assert 0 < events["1"] < events["2"] < events["3"]
    names = decode(Path(facts["levels"]["2 and python"]["path"]).read_bytes()).event_metadata.name
    assert any(name.startswith("$") and "iterator_ops.py" in name for name in names)
    for told in facts["levels"].values():
        assert not [text for text in told["warnings"] if "instead of" in text]


@tensorflow
def test_threads_stand_on_lines_of_their_own(program: Program) -> None:
    _, facts, _ = program
    space = decode(Path(facts["threads"]["path"]).read_bytes())
    lines = space.event_line.tolist()
    where = {
        space.event_metadata.name[row]: lines[number]
        for number, row in enumerate(space.events.metadata.tolist())
        if space.event_metadata.name[row].startswith("worker ")
    }
    assert len(where) == 3
    assert len(set(where.values())) == 3
    assert len(values_of(facts["threads"]["path"], "worker 1")) == 20


@tensorflow
def test_memory_of_the_cpu_is_recorded_without_a_restart(program: Program) -> None:
    _, facts, _ = program
    memories = opened(facts["custom_loop"]["path"]).memory_profile().memories
    assert len(memories) > 0


@tensorflow
def test_chunks_make_one_whole_recording(program: Program) -> None:
    _, facts, _ = program
    path = facts["chunks"]["path"]
    planes = [plane.name for plane in decode(Path(path).read_bytes(), strict=True).planes]
    assert len(set(planes)) == len(planes)
    # A step that a cut falls into is lost, and what ran while the chunk was handed over.
    assert 40 <= steps_of(path) <= 60


@either
def test_a_profiler_that_is_taken_costs_the_frameworks_events_only(program: Program) -> None:
    folder, facts, _ = program
    told = facts["taken"]
    assert any("stop it first" in text for text in told["warnings"])
    assert told["counts"].keys() & {"tensorflow", "jax"} == set()
    assert Path(told["path"]).is_file()
    assert list((folder / "theirs").rglob("*.xplane.pb")), "the program's own recording suffered"


_COUNTED = re.compile(r"(\d+) steps? \(markers\)")


@tensorflow
def test_the_callback_prints_a_summary_that_ends_with_what_to_do_next(program: Program) -> None:
    folder, _, said = program
    begin = said.index("Stepscope recorded")
    lines = said[begin:].split(f"stepscope serve {folder / 'fit'}")[0].splitlines()
    assert len(lines) <= 15
    found = _COUNTED.search("\n".join(lines))
    assert found is not None, lines
    counted = int(found[1])
    # Those at the edges are left out, and on a busy machine a step that was interrupted.
    is_whole = "was not recorded" not in said[begin:]
    assert counted in range(STEPS // 2 if is_whole else 1, STEPS), lines


@jax
@pytest.mark.parametrize("name", ["first_use", "marked"])
def test_jax_is_recorded_from_its_first_use_on(program: Program, name: str) -> None:
    _, facts, _ = program
    assert steps_of(facts[name]["path"]) == STEPS
    ops = opened(facts[name]["path"]).framework_op_stats().ops
    assert any("dot" in str(row["operation"]) for row in ops.rows())


@either
def test_every_tool_opens_it_or_says_why_it_does_not_apply(program: Program) -> None:
    _, facts, _ = program
    path = (facts.get("fit") or facts.get("marked"))["path"]  # type: ignore[index]
    session = opened(path)
    answered = []
    for tool in TOOLS:
        try:
            result = getattr(session, tool.id)()
        except NothingToShow as error:
            assert error.why
        else:
            assert json.dumps(result.to_dict())
            answered.append(tool.id)
    assert {"overview_page", "framework_op_stats", "trace_viewer"} <= set(answered)


@either
@pytest.mark.incumbent
def test_the_incumbent_reads_every_step_of_it(program: Program, tmp_path: Path) -> None:
    _, facts, _ = program
    incumbent = ROOT / ".stepscope" / "bench" / INCUMBENT.replace("==", "-") / "bin" / "python"
    if not incumbent.exists():
        pytest.skip("xprof is not installed (`dev.py bench` installs it)")
    names = ["fit", "custom_loop", "chunks"] if "fit" in facts else ["marked"]
    for name in names:
        copy = tmp_path / name / "host.xplane.pb"
        copy.parent.mkdir()
        copy.write_bytes(Path(facts[name]["path"]).read_bytes())
        said = subprocess.run(
            [str(incumbent), "-c", ASK, str(copy), "overview_page"],
            capture_output=True,
            text=True,
            check=True,
        )
        steps = json.loads(said.stdout.splitlines()[-1])
        ours = steps_of(facts[name]["path"])
        assert ours - 3 <= steps <= ours, name


# Rows of the step-time table of its overview: the third table of the page's data.
ASK = """
import json, sys
from xprof.convert import raw_to_tool_data
data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], sys.argv[2], {})
tables = json.loads(data)
steps = [table for table in tables if any(c.get("id") == "stepnum" for c in table.get("cols", []))]
print(len(steps[0]["rows"]) if steps else 0)
"""
