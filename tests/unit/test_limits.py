"""A file costs what its bytes explain, whatever they share, nest or repeat."""

from __future__ import annotations

import pytest

from stepscope.limits import VARIABLE, Budget, LimitError, current, json_value, spending


def test_costs_are_allowed_in_proportion_to_bytes() -> None:
    budget = Budget("a", stored_bytes=1_000_000)
    budget.spend("objects", 6_000_000)
    with pytest.raises(LimitError, match="'objects': 6,000,000 events") as refused:
        budget.spend("objects", 1)
    assert refused.value.where == "a" and VARIABLE in refused.value.hint
    assert refused.value.anchor == "beyond-limit"


def test_a_factor_raises_every_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LimitError, match="'depth'"):
        Budget().nest(600)
    monkeypatch.setenv(VARIABLE, "10")
    budget = Budget()
    budget.nest(600)
    budget.spend("tracks", 30_000)


@pytest.mark.parametrize("given", ["", "0", "-1", "x", "1e9", "9" * 20])
def test_a_factor_that_is_none_changes_nothing(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, given)
    with pytest.raises(LimitError):
        Budget().spend("tracks", 4097)


def test_readers_spend_from_the_budget_of_their_file() -> None:
    with spending(Budget("a")) as budget:
        current().open("b", 10)
        current().read(30)
        assert (budget.file, budget.stored_bytes, budget.read_bytes) == ("a", 10, 30)
    assert current().read_bytes == 0


def test_what_inflates_too_far_is_refused() -> None:
    budget = Budget("a", stored_bytes=100)
    budget.read(64 << 20)
    with pytest.raises(LimitError, match="'inflated'"):
        budget.read(1 << 20)


def test_nesting_that_python_cannot_read_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        json_value("[" * 100_000)
