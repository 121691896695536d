"""Importing Stepscope brings in no framework, and the command line starts quickly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import stepscope
from stepscope.analysis import TOOLS
from tests.architecture.tree import PACKAGE
from tests.profiles import draw, event, nth, space
from tests.profiles.loops import Collective, Kernel, Loop, record

HEAVY = {
    "google",
    "grpc",
    "jax",
    "jaxlib",
    "keras",
    "pandas",
    "polars",
    "tensorboard",
    "tensorflow",
    "torch",
    "xprof",
}


# What cost the answer to a small profile a millisecond or more, and gave it nothing.
NEEDLESS = {
    "concurrent.futures",
    "csv",
    "hashlib",
    "html",
    "importlib.metadata",
    "logging",
    "numpy.ma",
    "secrets",
    "shutil",
    "stepscope.sql.run",
    "stepscope.timeline.model",
    "tempfile",
}


def loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has after a statement."""
    return {name.partition(".")[0] for name in modules_of(statement)}


def modules_of(statement: str) -> set[str]:
    """All modules that a fresh interpreter has after a statement."""
    code = f"{statement}; import sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "statement",
    ["import stepscope", "import stepscope; stepscope.open", "import stepscope.columns"],
)
def test_importing_brings_in_nothing_heavy(statement: str) -> None:
    loaded = loaded_by(statement)
    assert "stepscope" in loaded
    assert loaded & HEAVY == set()


_COMMAND = """
import sys
sys.argv = {words!r}
from stepscope.surfaces.cli import main
try: main()
except SystemExit: pass
"""


@pytest.mark.parametrize(
    ("words", "most", "others"),
    [
        ([], 3, set()),
        (["version"], 9, {"click"}),
        (["--help"], 8, {"click"}),
        (["show", "framework_op_stats", "SAMPLE"], 161, {"click", "numpy"}),
        # The overview and advise name the same first finding: both run every rule.
        (["show", "overview_page", "SAMPLE"], 249, {"click", "numpy"}),
        (["advise", "SAMPLE"], 245, {"click", "numpy"}),
    ],
)
def test_starting_loads_no_more_modules_than_its_budget(
    words: list[str], most: int, others: set[str]
) -> None:
    """Modules are what start-up costs, and unlike seconds they are the same on every machine."""
    sample = str(PACKAGE / "surfaces" / "sample")
    check([sample if word == "SAMPLE" else word for word in words], most, others)


@pytest.mark.parametrize(("words", "most"), [(["show", "overview_page"], 272), (["advise"], 268)])
def test_devices_that_meet_load_no_more_modules_than_their_budget(
    words: list[str], most: int, tmp_path: Path
) -> None:
    (content,) = record(Loop([Kernel("gemm", 200)], devices=4, collective=Collective(50))).values()
    path = tmp_path / "four.xplane.pb"
    path.write_bytes(content)
    own = check([*words, str(path)], most, {"click", "numpy"})
    assert "stepscope.pod.analyse" in own, "the recording has no pod"


def test_tools_without_their_data_are_not_imported() -> None:
    sample = str(PACKAGE / "surfaces" / "sample")
    own = check(["advise", sample], 245, {"click", "numpy"})
    imported = {name.rpartition(".")[2] for name in own if name.startswith("stepscope.analysis.")}
    with stepscope.open(sample) as session:
        available = {tool for tool in TOOLS.ids if session.available(tool) is None}
    assert imported
    assert imported <= available


def check(words: list[str], most: int, others: set[str]) -> set[str]:
    """Return our modules after a command, which are no more than ``most``."""
    statement = "import stepscope"
    if words:
        statement = f"exec({_COMMAND.format(words=['stepscope', *words])!r})"
    found = modules_of(statement) - modules_of("pass")
    own = {name for name in found if name.partition(".")[0] == "stepscope"}
    assert 0 < len(own) <= most, sorted(own)
    names = {name.partition(".")[0] for name in found - own} - sys.stdlib_module_names
    # Neither what kernels bring along, nor what Polars does.
    brought = ("cython", "polars_runtime", "typing_extensions", "sysconfigdata")
    assert {name for name in names if not any(word in name for word in brought)} == others
    return own


def test_every_public_name_is_there() -> None:
    code = "import stepscope; [getattr(stepscope, name) for name in stepscope.__all__]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_command_line_says_its_version_without_loading_the_spine() -> None:
    code = (
        "import sys; sys.argv = ['stepscope', 'version']\n"
        "from stepscope.surfaces.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass"
    )
    assert loaded_by(f"exec({code!r})") & {*HEAVY, "werkzeug", "waitress"} == set()


def test_a_tool_imports_only_what_it_shows(tmp_path: Path) -> None:
    """Two thirds of a small profile's answer is start-up: this is what keeps it short."""
    marked = event("train", step_num=nth, _r=1)
    planes = draw(
        """
        /host:CPU
          python    S------S------S------
    """,
        unit_us=100,
        S=marked,
    )
    path = tmp_path / "small.xplane.pb"
    path.write_bytes(space(*planes))
    code = (
        f"import sys; sys.argv = ['stepscope', 'show', 'input_pipeline_analyzer', {str(path)!r}]\n"
        "from stepscope.surfaces.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass"
    )
    found = modules_of(f"exec({code!r})")
    assert {"numpy", "stepscope.analysis.input_pipeline_analyzer"} <= found
    assert found & NEEDLESS == set()
