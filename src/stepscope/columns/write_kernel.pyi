"""Types of the kernels that write: mypy cannot follow Cython's annotations."""

def is_compiled() -> bool: ...
def write_events(
    buf: memoryview,
    begin: int,
    end: int,
    shift: int,
    metadata: memoryview,
    start_ps: memoryview,
    duration_ps: memoryview,
    data: memoryview,
    stat_begin: memoryview,
    key: memoryview,
    kind: memoryview,
    value: memoryview,
    event_ids: memoryview,
    stat_ids: memoryview,
    out: memoryview,
    state: memoryview,
) -> None: ...
