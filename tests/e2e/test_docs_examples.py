"""The examples of the documents run."""

from __future__ import annotations

import doctest
from pathlib import Path

import polars as pl
import pytest

import stepscope
from tests.profiles import worked_example

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("page", "least"), [("python.md", 10), ("sql.md", 2)])
def test_python_examples_run(tmp_path: Path, page: str, least: int) -> None:
    folder = tmp_path / "plugins" / "profile" / "2024_01_02_03_04_05"
    folder.mkdir(parents=True)
    (folder / "vm.xplane.pb").write_bytes(worked_example(gpu=True))
    text = (DOCS / page).read_text(encoding="utf-8")
    names = {"LOGDIR": str(tmp_path), "polars": pl, "session": stepscope.open(tmp_path)}
    test = doctest.DocTestParser().get_doctest(text, names, page, f"docs/{page}", 0)
    assert len(test.examples) > least
    report: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=doctest.REPORT_NDIFF).run(
        test, out=report.append
    )
    assert report == [], "".join(report)
