"""Tables and results: what every surface relies on."""

import math
import sys
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest

from stepscope.errors import UsageError
from stepscope.result import Column, Diagnostic, Result, Row, Table, columns_of, ms, us


class Fruit(Row):
    name: Annotated[str, Column("Name", kind="name")]
    weight_g: Annotated[float, Column("Weight", unit="g")]


@dataclass(frozen=True, kw_only=True)
class Basket(Result):
    """A basket."""

    tool = "basket"
    fruits: Table[Fruit]
    share_frac: float


def fruits() -> Table[Fruit]:
    return Table(Fruit, {"weight_g": np.asarray([1.5, math.nan]), "name": ["fig", "kiwi"]})


def test_columns_come_in_the_order_of_the_schema() -> None:
    assert list(fruits().columns) == ["name", "weight_g"] == list(columns_of(Fruit))


def test_not_available_is_never_zero() -> None:
    assert list(fruits().rows()) == [
        {"name": "fig", "weight_g": 1.5},
        {"name": "kiwi", "weight_g": None},
    ]


@pytest.mark.parametrize(
    ("texts", "rows"),
    [
        (["kiwi", "plum"], {1}),
        (["fig", "kiwi"], {0, 1}),
        (["1.5"], {0}),
        (["None"], {1}),
        (["g"], set()),
        ([], set()),
    ],
)
def test_rows_are_found_by_any_cell(texts: list[str], rows: set[int]) -> None:
    assert fruits().rows_with(texts) == rows


def test_rows_are_found_among_texts_and_numbers_of_one_column() -> None:
    table: Table[Fruit] = Table(Fruit, {"weight_g": [1, "heavy"], "name": ["fig", "kiwi"]})
    assert table.rows_with(["heavy"]) == {1}
    assert table.rows_with(["1", "heavy"]) == {0, 1}


def test_cells_of_no_column() -> None:
    assert fruits().cells("weight_g") == [1.5, None]
    assert fruits().cells("price") == []


@pytest.mark.parametrize("columns", [{"name": []}, {"name": [], "weight_g": [], "price": []}])
def test_a_table_has_exactly_the_columns_of_its_schema(columns: dict[str, list[object]]) -> None:
    with pytest.raises(ValueError, match="Fruit"):
        Table(Fruit, columns)


def test_columns_are_equally_long() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        Table(Fruit, {"name": ["fig"], "weight_g": []})


def test_mixed_and_huge_values_stay_as_they_are() -> None:
    table = Table(Fruit, {"name": ["a", None, "b"], "weight_g": [2**70, 1, None]})
    assert table.to_dict() == {"name": ["a", None, "b"], "weight_g": [2**70, 1, None]}


def test_frames() -> None:
    assert fruits().to_polars().columns == ["name", "weight_g"]
    pytest.importorskip("pandas", reason="pandas is not installed")
    assert fruits().to_pandas()["name"].tolist() == ["fig", "kiwi"]


def test_without_pandas_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError) as caught:
        fruits().to_pandas()
    assert caught.value.anchor == "no-pandas"
    assert "pip install pandas" in caught.value.hint


def test_records_have_the_fields_of_the_schema() -> None:
    fig, kiwi = fruits().records()
    assert isinstance(fig, Fruit)
    assert (fig.name, fig.weight_g, type(fig.weight_g)) == ("fig", 1.5, float)
    assert math.isnan(kiwi.weight_g), "not available stays a number that is none"


def test_the_published_form_of_a_result() -> None:
    basket = Basket(
        fruits=fruits(),
        share_frac=math.inf,
        session="s",
        hosts=("h",),
        diagnostics=(Diagnostic("d", "info", "Said."),),
    )
    assert basket.to_dict(top=1) == {
        "tool": "basket",
        "schema_version": 1,
        "session": "s",
        "hosts": ["h"],
        "diagnostics": [{"slug": "d", "severity": "info", "message": "Said.", "where": ""}],
        "files_used": [],
        "times": "",
        "times_of": "",
        "selection": "",
        "fruits": [{"name": "fig", "weight_g": 1.5}],
        "share_frac": None,
    }
    assert list(basket.tables()) == ["fruits"]


def test_units() -> None:
    assert us(1_500_000) == 1.5
    assert ms(1_500_000_000) == 1.5
