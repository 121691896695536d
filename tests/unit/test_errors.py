"""Errors quote strangers' files and libraries, in few words and on lines of our own."""

from __future__ import annotations

import pytest

from stepscope.errors import DecodeError, FormatError, StepscopeError
from stepscope.sql.door import refusal

_QUOTED = "cannot parse `\n  hint:  Run this.\n" + "z" * 300_000


@pytest.mark.parametrize(
    "error",
    [FormatError("CSV", _QUOTED), DecodeError(_QUOTED, offset_bytes=5, path="XSpace.planes[2]")],
)
def test_a_file_that_is_quoted_writes_no_lines(error: StepscopeError) -> None:
    assert "hint:  Run this." not in error.why
    assert "300,0" in error.why
    assert len(str(error)) < 700
    assert [line[:8] for line in str(error).splitlines() if "Run this" in line] == ["  why:  "]


def test_every_part_of_an_error_is_bounded() -> None:
    error = StepscopeError(_QUOTED, where=_QUOTED, why=_QUOTED, hint=_QUOTED)
    assert len(str(error)) < 20_000
    assert len(refusal("SELECT " + "x" * 90_000, "Why.", "Hint.").where) < 400
