"""The evidence that ``explain`` gives beside a finding."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepscope
from stepscope.result import Finding, Place
from stepscope.surfaces.agent.questions.evidence import digest, evidence
from stepscope.surfaces.agent.reply import tokens_of
from stepscope.surfaces.cli.main import run
from tests.collection.labels import SAMPLE

EAGERLY = SAMPLE / "keras" / "eagerly" / "tf2.8-keras-range.xplane.pb.gz"


def lines_shown(file: str, folder: Path) -> list[tuple[str, ...]]:
    """Return the rows of source of a finding at line 3 of a file."""
    finding = Finding("slow", "high", 1.0, 0.9, "slow", place=Place("f", file, 3))
    with stepscope.open(EAGERLY) as session:
        tables = evidence(session, session.advice(), finding, str(folder) if folder else "")
    return list(next(one for one in tables if one.name == "source").rows)


def test_source_lines_come_from_files_below_the_folder(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("a\nb\n    c\n\td\n", "utf-8")
    shown = lines_shown("/home/somebody/src/train.py", tmp_path)
    assert shown == [("1", "0", "a"), ("2", "0", "b"), (">3", "4", "c"), ("4", "8", "d")]


@pytest.mark.parametrize("file", ["../secret.py", "/etc/passwd", "src/../../secret.py", "link.py"])
def test_files_outside_the_folder_are_never_read(file: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (tmp_path / "secret.py").write_text("a\nb\nsecret\n", "utf-8")
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    assert lines_shown(file, root) == []


def test_a_finding_comes_with_its_ops_doubts_and_an_experiment(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["explain", "finding:1", str(EAGERLY)]) == 0
    text = capsys.readouterr().out
    for table in ("steadiness", "made_of", "ops", "ruled_out", "experiment"):
        assert f"data {table} " in text
    assert "CUT:" not in text
    assert tokens_of(text) <= 1500


def test_all_findings_are_one_short_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--all", str(EAGERLY)]) == 0
    text = capsys.readouterr().out
    assert "finding:1 " in text and "ruled out: " in text
    assert len(text.split()) <= 700
    with stepscope.open(EAGERLY) as session:
        (table,) = digest(session, session.advice(), 60)
    assert sum(len(row[0].split()) for row in table.rows) <= 60


def test_source_is_refused_where_names_are_hidden(tmp_path: Path) -> None:
    assert (
        run(["explain", "finding:1", str(EAGERLY), "--redact", "names", "--source", str(tmp_path)])
        == 2
    )
