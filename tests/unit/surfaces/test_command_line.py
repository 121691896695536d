"""The command line before a command runs: misspelt names, completion, warnings."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from stepscope.errors import SlowKernelsWarning
from stepscope.kernels import core
from stepscope.session import decoded_run
from stepscope.surfaces.cli.group import build
from stepscope.surfaces.cli.main import run
from stepscope.surfaces.cli.output import tell_written


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["shwo", "logs"], "Did you mean stepscope show?"),
        (["advice", "logs"], "Did you mean stepscope advise?"),
        (["overview_page", "logs"], "Did you mean stepscope show overview_page?"),
        (["show", "kernel_stat", "logs"], "Did you mean kernel_stats?"),
        (["show", "foo", "logs"], "Known tools: overview_page, "),
        (["xyzzy"], "Known: show, "),
    ],
)
def test_misspelt_name_gets_the_nearest_one(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "incomplete", "kind", "value"),
    [
        ([], "adv", "plain", "advise"),
        (["show"], "kernel", "plain", "kernel_stats"),
        (["show", "overview_page"], "logs", "file", "logs"),
        (["show", "overview_page", "logs"], "--form", "plain", "--format"),
        (["show", "no_such_tool"], "x", "", ""),
    ],
)
def test_shell_completes_commands_tools_files_and_flags(
    words: list[str], incomplete: str, kind: str, value: str
) -> None:
    shell = ShellComplete(build(), {}, "stepscope", "_STEPSCOPE_COMPLETE")
    found = [(item.type, item.value) for item in shell.get_completions(words, incomplete)]
    assert found[:1] == ([(kind, value)] if kind else [])


def test_slow_opening_without_compiled_kernels_is_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(core, "compiled", lambda: False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decoded_run._warn_of_slow_kernels(1.0)
        with pytest.raises(SlowKernelsWarning, match=r"102 s instead of 2\.7 s.*--only-binary"):
            decoded_run._warn_of_slow_kernels(9.0)
        monkeypatch.setattr(core, "compiled", lambda: True)
        decoded_run._warn_of_slow_kernels(9.0)


def test_warning_is_one_line_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert warnings.formatwarning("Slow.", SlowKernelsWarning, "f.py", 1) == "note: Slow.\n"
    assert "f.py:1" in warnings.formatwarning("Other.", UserWarning, "f.py", 1)


def test_a_path_in_place_of_a_command_gets_the_command_that_opens_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my runs").mkdir()
    assert run([str(tmp_path / "my runs")]) == 2
    said = capsys.readouterr().err
    assert f"Did you mean stepscope show overview_page '{tmp_path}/my runs'?" in said
    assert run([str(tmp_path / "other runs")]) == 2
    assert "overview_page" not in capsys.readouterr().err


def test_the_name_of_a_written_file_commands_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without --output, it comes from the recording's folder."""
    tell_written("run\x1b[31m.html", ": 5 events")
    assert capsys.readouterr().err == "wrote run\\x1b[31m.html: 5 events\n"
