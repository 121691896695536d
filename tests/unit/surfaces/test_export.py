"""Exports hold the result's numbers in full precision, and cannot run in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest

import stepscope
from stepscope.analysis.framework_op_stats import FrameworkOpStats
from stepscope.errors import NothingToShow, UsageError
from stepscope.result import Result, Table
from stepscope.surfaces import export
from stepscope.surfaces.export.tables import markdown_escape
from stepscope.surfaces.format import clean
from tests.profiles import HOSTILE_NAMES, worked_example
from tests.unit.surfaces.sample import Sample, sample


@pytest.fixture
def result(tmp_path: Path) -> FrameworkOpStats:
    (tmp_path / "a.xplane.pb").write_bytes(worked_example(gpu=True))
    return stepscope.open(tmp_path).framework_op_stats()


def test_csv_reads_back_as_the_table(result: FrameworkOpStats) -> None:
    rows = list(csv.DictReader(io.StringIO(export.csv_text(result.ops))))
    assert list(rows[0]) == list(result.ops.columns)
    assert [float(row["self_time_us"]) for row in rows] == list(result.ops["self_time_us"])
    assert len(list(csv.reader(io.StringIO(export.csv_text(result.ops, 1))))) == 2


def test_csv_cells_cannot_be_formulas() -> None:
    (*names,) = csv.DictReader(io.StringIO(export.csv_text(sample(HOSTILE_NAMES))))
    texts = [row["operation"] for row in names]
    assert "'=1+1" in texts
    assert [text.removeprefix("'") for text in texts] == list(map(clean, HOSTILE_NAMES))


def test_negative_numbers_are_numbers() -> None:
    columns = {name: [-1.5] for name in Sample.__annotations__}
    table = Table(Sample, columns | {"operation": ["-x"], "secret": ["+y"], "rank": [-1]})
    (row,) = csv.DictReader(io.StringIO(export.csv_text(table)))
    assert (row["self_us"], row["operation"], row["secret"]) == ("-1.5", "'-x", "'+y")


def test_parquet_reads_back_as_the_table(result: FrameworkOpStats) -> None:
    frame = pl.read_parquet(io.BytesIO(export.parquet_bytes(result.ops)))
    assert frame.equals(result.ops.to_polars())


def test_json_is_the_published_form(result: FrameworkOpStats) -> None:
    body = json.loads(export.json_text(result))
    assert body["tool"] == "framework_op_stats" and body["schema_version"] == 1
    assert len(body["ops"]) == len(result.ops)
    assert len(json.loads(export.json_text(result, 1))["ops"]) == 1


def test_json_has_null_where_a_number_is_not_available(result: FrameworkOpStats) -> None:
    text = export.json_text(result)
    assert "NaN" not in text and "Infinity" not in text


def test_markdown_has_values_with_units_and_tables(result: FrameworkOpStats) -> None:
    text = export.markdown_text(result, "Framework Ops", 1)
    assert text.startswith("# Framework Ops\n")
    assert "Op time: " in text and " µs" in text
    assert "| Self time (µs) |" in text
    assert f"… {len(result.ops) - 1:,} more rows." in text


def test_markdown_names_are_inert() -> None:
    text = export.markdown_table(sample(HOSTILE_NAMES))
    assert "<script>" not in text and "\x1b" not in text
    cells = {line.replace("\\|", "").count("|") for line in text.splitlines()}
    assert len(cells) == 1, "a name cannot add a cell or a line"


def test_table_is_chosen_by_name(result: FrameworkOpStats) -> None:
    assert export.main_table(result)[0] == "ops"
    with pytest.raises(UsageError) as caught:
        export.main_table(result, "nope")
    assert "ops" in caught.value.hint
    with pytest.raises(NothingToShow):
        export.main_table(Result())


def test_markdown_holds_no_escape_sequences_of_terminals() -> None:
    assert "\x1b" not in markdown_escape("a\x1b[31mred|b")
    assert "\\|" in markdown_escape("a|b")


@pytest.mark.parametrize(
    ("name", "escaped"),
    [("a&lt;b&gt;", "a&amp;lt;b&amp;gt;"), ("&#60;", "&amp;#60;"), ("f(T&&, U&)", "f(T&&, U&)")],
)
def test_markdown_shows_ampersands_of_names(name: str, escaped: str) -> None:
    assert markdown_escape(name) == escaped
