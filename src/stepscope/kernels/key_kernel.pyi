"""Types of the kernels over keys: mypy cannot follow Cython's annotations."""

def is_compiled() -> bool: ...
def count_wanted(key: memoryview, wanted: memoryview) -> int: ...
def collect_wanted(key: memoryview, wanted: memoryview, rows: memoryview) -> None: ...
def add_by_key(key: memoryview, value: memoryview, total: memoryview) -> bool: ...
def find_first(key: memoryview, first: memoryview) -> None: ...
def look_up(
    rows: memoryview, values: memoryview, wanted: memoryview, found: memoryview
) -> None: ...
def sum_labels(
    label: memoryview,
    total_ps: memoryview,
    self_ps: memoryview,
    count: memoryview,
    total: memoryview,
    own: memoryview,
    longest: memoryview,
) -> bool: ...
def count_stats(key: memoryview, wanted: memoryview, counts: memoryview) -> None: ...
def collect_stats(
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
