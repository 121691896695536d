"""The examples of the documents run."""

from __future__ import annotations

import doctest
from pathlib import Path

import polars as pl

from tests.profiles import worked_example

DOCS = Path(__file__).parents[2] / "docs"


def test_python_examples_run(tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "profile" / "2024_01_02_03_04_05"
    folder.mkdir(parents=True)
    (folder / "vm.xplane.pb").write_bytes(worked_example(gpu=True))
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(
        text, {"LOGDIR": str(tmp_path), "polars": pl}, "python.md", "docs/python.md", 0
    )
    assert len(test.examples) > 10
    report: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=doctest.REPORT_NDIFF).run(
        test, out=report.append
    )
    assert report == [], "".join(report)
