"""Each command's default output is one screen of 80 × 24 that ends with what to run next."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from click.testing import CliRunner

import stepscope
from stepscope.analysis import TOOLS
from stepscope.surfaces.cli.commands.show import next_command, write_page
from stepscope.surfaces.cli.group import build
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.format import width

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
COLUMNS, LINES = 80, 24
RECORDINGS = (
    "kineto/v100-torchrec-4rank/before_qcomm",
    "xplane/tf-v100-8gpu",
    "xplane/jax-tpu-v6e-4",
    "nsight/h100_2gpu_1s.sqlite",
    "xplane/tf-cpu-keras",
)


def assert_screen(text: str, columns: int = COLUMNS) -> None:
    lines = text.splitlines()
    assert len(lines) < LINES, text  # the prompt needs a line
    assert max(map(width, lines)) <= columns, text
    assert lines[-1].startswith("Next: stepscope "), text


@pytest.fixture(params=RECORDINGS)
def recording(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = SHARED / str(request.param)
    if not path.exists():
        pytest.skip(f"{path} is not here.")
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("LINES", str(LINES))
    return path


def test_every_tool_answers_on_one_screen(recording: Path) -> None:
    with stepscope.open(recording) as session:
        for tool in TOOLS:
            if session.available(tool.id) is not None:
                continue
            result = session.run(tool.id)
            for columns in (60, COLUMNS, 120):
                page = Page(columns, LINES)
                page.next, page.paths = next_command(session, tool), (str(recording),)
                write_page(page, session, tool, result, 20)
                text = io.StringIO()
                page.print(text, colour=False)
                assert_screen(text.getvalue(), columns)


@pytest.mark.parametrize("command", ["advise", "ls", "doctor", "show overview_page"])
def test_every_command_answers_on_one_screen(recording: Path, command: str) -> None:
    ran = CliRunner().invoke(build(), [*command.split(), str(recording)])
    assert_screen(ran.stdout)


def test_a_comparison_keeps_its_numbers_on_one_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sides = [
        SHARED / "kineto/v100-torchrec-4rank" / side for side in ("before_qcomm", "after_qcomm")
    ]
    if not all(side.exists() for side in sides):
        pytest.skip("The recordings are not here.")
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("LINES", str(LINES))
    ran = CliRunner().invoke(build(), ["compare", *map(str, sides)])
    assert_screen(ran.stdout)
    assert "Change (ms)" in ran.stdout
