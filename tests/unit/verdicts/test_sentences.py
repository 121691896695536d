"""What sentences have in common."""

from __future__ import annotations

import pytest

from stepscope.verdicts.sentences import time_words


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0.367, "367 µs"),
        (8.803, "8.8 ms"),
        (0.9996, "1 ms"),
        (1510.0, "1.51 s"),
        (0.0002, "0.2 µs"),
        (0.0, "0 µs"),
    ],
)
def test_a_time_is_given_in_the_unit_that_fits_it(ms: float, said: str) -> None:
    assert time_words(ms) == said
