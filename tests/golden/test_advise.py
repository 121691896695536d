"""``advise`` says of real recordings what is stored in ``advise/``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.advise import DATA, FOLDER, answers, cases, opened


@pytest.mark.parametrize("name", cases())
def test_advice_is_as_stored(name: str, tmp_path: Path) -> None:
    case = cases()[name]
    if "source" in case and not (DATA / case["source"]).exists():
        pytest.skip(f"needs ../shared/data/{case['source']}, which is not in a user's clone")
    with opened(case, tmp_path) as session:
        text, body = answers(case, session)
        assert text == (FOLDER / f"{name}.txt").read_text("utf-8")
        assert body == (FOLDER / f"{name}.json").read_text("utf-8")
