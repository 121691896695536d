"""Types of the kernels that read: mypy cannot follow Cython's annotations."""

def is_compiled() -> bool: ...
def index_fields(
    buf: memoryview,
    begins: memoryview,
    ends: memoryview,
    parent: memoryview,
    tags: memoryview,
    begin: memoryview,
    prefix: memoryview,
    value: memoryview,
    end: memoryview,
    state: memoryview,
) -> None: ...
def scan_line(
    buf: memoryview,
    end: int,
    pause: int,
    runs: memoryview,
    state: memoryview,
) -> None: ...
def fill_line(
    buf: memoryview,
    end: int,
    pause: int,
    shift: int,
    event_table: memoryview,
    event_keys: memoryview,
    event_rows: memoryview,
    stat_table: memoryview,
    stat_keys: memoryview,
    stat_rows: memoryview,
    metadata: memoryview,
    start_ps: memoryview,
    duration_ps: memoryview,
    data: memoryview,
    stat_begin: memoryview,
    key: memoryview,
    kind: memoryview,
    value: memoryview,
    notes: memoryview,
    state: memoryview,
) -> None: ...
