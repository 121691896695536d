"""Types of the kernels over stats: mypy cannot follow Cython's annotations."""

def is_compiled() -> bool: ...
def count_wanted(key: memoryview, wanted: memoryview, counts: memoryview) -> None: ...
def collect_wanted(
    first_row: int,
    stat_begin: memoryview,
    key: memoryview,
    kind: memoryview,
    value: memoryview,
    wanted: memoryview,
    place: memoryview,
    owner: memoryview,
    kinds: memoryview,
    values: memoryview,
) -> None: ...
