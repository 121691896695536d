"""Tables within records, and names that two tools share."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from generate import typescript
from stepscope.result import Result, Table, tables_of
from stepscope.surfaces import export
from stepscope.surfaces.envelope import coded, columnar
from stepscope.surfaces.fields import table_fields
from stepscope.surfaces.outline import outline
from tests.unit.surfaces.sample import Sample, sample


@dataclass(frozen=True, slots=True)
class Drawing:
    """Something with rows of its own."""

    title: str
    nodes: Table[Sample]


@dataclass(frozen=True, kw_only=True)
class Answer(Result):
    """An answer with a table in a record."""

    tool = "answer"
    ops: Table[Sample]
    drawing: Drawing | None


def answer(*, drawn: bool) -> Answer:
    drawing = Drawing("d", sample(("x", "y", "z"))) if drawn else None
    return Answer(ops=sample(), drawing=drawing)


def test_nested_tables_are_named_by_their_path() -> None:
    assert list(table_fields(Answer)) == ["ops", "drawing.nodes"]
    assert list(tables_of(answer(drawn=True))) == ["ops", "drawing.nodes"]
    assert list(tables_of(answer(drawn=False))) == ["ops"]


def test_columns_replace_rows_at_any_depth() -> None:
    body = columnar(answer(drawn=True), top=2)
    assert body["drawing"]["title"] == "d"
    assert body["drawing"]["nodes"]["rows"] == 2
    assert body["drawing"]["nodes"]["columns"]["operation"] == ["x", "y"]
    assert body["ops"]["columns"]["rate"] == [None, None]
    assert columnar(answer(drawn=False))["drawing"] is None


def test_repeated_values_are_sent_once_at_any_depth() -> None:
    names = ("long",) * 20 + ("other",) * 20
    drawn = Answer(ops=sample(tuple("abcdefghijklmnopqrst")), drawing=Drawing("d", sample(names)))
    body = coded(columnar(drawn), drawn)
    texts = {"values": ["long", "other"], "codes": [0] * 20 + [1] * 20}
    assert body["drawing"]["nodes"]["columns"]["operation"] == texts
    assert body["ops"]["columns"]["operation"] == list("abcdefghijklmnopqrst")


def test_exports_and_pages_know_nested_tables() -> None:
    result = answer(drawn=True)
    assert len(export.main_table(result, "drawing.nodes")[1]) == 3
    assert "## Drawing nodes" in export.markdown_text(result, "Answer")
    lines = {line.label: line.text for line in outline(result)}
    assert lines["Nodes"] == "3 rows, below"


def test_classes_of_one_name_stay_apart_in_typescript() -> None:
    other = dataclasses.make_dataclass("Drawing", [("x", int)])
    other.__module__ = "stepscope.analysis.some_tool"
    names = typescript._names([Answer, Drawing, other, Drawing])
    assert names[Answer] == "Answer"
    assert {names[Drawing], names[other]} == {"TestNestedDrawing", "SomeToolDrawing"}
