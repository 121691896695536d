"""Distinct combinations against NumPy's own, slow ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.tables.core.distinct_rows import distinct_rows, packed

_ANY = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))


@given(
    st.integers(1, 6).flatmap(lambda n: st.lists(st.tuples(*[_ANY] * n), min_size=1, max_size=40))
)
def test_equals_unique_over_rows(rows: list[tuple[int, ...]]) -> None:
    keys = np.asarray(rows, dtype=np.int64).T
    wanted, inverse = np.unique(keys, axis=1, return_inverse=True)
    first, code = distinct_rows(list(keys))
    assert (keys[:, first] == wanted).all()
    assert (code == inverse.ravel()).all()
    assert all(first[code[row]] <= row for row in range(len(rows)))


def test_nothing_is_nothing() -> None:
    empty = np.zeros(0, dtype=np.int32)
    assert len(packed([empty, empty])) == 0
    assert [len(part) for part in distinct_rows([empty])] == [0, 0]
